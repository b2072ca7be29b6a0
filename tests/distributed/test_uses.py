"""What is done with stored tables after they are projected."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from tests.distributed.test_project import by_profile, people

pytest.importorskip("zarr")


@pytest.fixture
def pair(tmp_path):
    table = people(31, (2, 3, 20), share=0.8)
    return table, pt.store_table(table, tmp_path / "t.zarr", chunk=17)


def test_disparities__of_a_stored_table(pair):
    table, stored = pair
    for measure in (pt.attributable_disparity, pt.disparity_ratio):
        wanted = measure(table, response="y", protected="s", reference={"s": 1})
        found = measure(stored, response="y", protected="s", reference={"s": 1})
        assert by_profile(found).values == pytest.approx(by_profile(wanted).values, abs=1e-13)


@pytest.mark.parametrize("unseen", ["raise", "drop"])
def test_predict__with_a_stored_model(pair, unseen):
    table, stored = pair
    test = pt.marginal(table, ["s", "x"])[::3]
    if unseen == "drop":
        test = pt.tabulate({"s": [0, 1, 2], "x": [3, 99, 4]}, weights=[2.0, 5.0, 1.0])
    wanted = pt.predict(table, test, response="y", unseen=unseen)
    found = pt.predict(stored, test, response="y", unseen=unseen)
    assert by_profile(found).to_dict() == pytest.approx(by_profile(wanted).to_dict(), rel=1e-13)
    assert found.attrs == wanted.attrs


def test_predict__refuses_as_in_memory(pair):
    _, stored = pair
    test = pt.tabulate({"s": [0, 1], "x": [3, 99]})
    with pytest.raises(pt.UnknownCategoryError):
        pt.predict(stored, test, response="y")
    with pytest.raises(pt.InvalidOptionError, match="marginal"):
        pt.predict(stored, test, response="y", unseen="marginal")
    with pytest.raises(pt.UnknownAttributeError):
        pt.predict(stored, pt.tabulate({"s": [0, 1]}), response="y")


def test_sample__of_a_stored_table(pair):
    table, stored = pair
    drawn = pt.sample(stored, 10**6, seed=5)
    assert drawn.total == 10**6
    counts = by_profile(drawn.to_table())
    assert (counts == counts.round()).all()
    share = by_profile(table) / float(table.sum())
    spread = np.sqrt(1e6 * share * (1 - share))
    assert (np.abs(counts - 1e6 * share) <= 6 * spread + 1).all()
    assert counts.equals(by_profile(pt.sample(stored, 10**6, seed=5).to_table()))
    assert not counts.equals(by_profile(pt.sample(stored, 10**6, seed=6).to_table()))
    assert float(pt.sample(stored, 0, seed=1).total) == 0.0
