"""What is done with stored tables after they are projected."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from tests.outofcore.test_project import by_profile, people

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


@pytest.fixture(params=[1 << 20, 60])
def at_once(request, monkeypatch):
    monkeypatch.setattr("purtensor.fairness.predict.ROWS_AT_ONCE", request.param)


def asked(table, unseen):
    """A population of predictor profiles: all known, or some that the model does not know."""
    test = pt.marginal(table, ["x", "s"])[::3]
    if unseen == "raise":
        return test
    return pt.tabulate({"s": [0, 1, 2, 1], "x": [3, 99, 4, 2]}, weights=[2.0, 5.0, 1.0, 3.0])


@pytest.mark.parametrize("unseen", ["raise", "drop", "marginal"])
def test_predict__with_a_stored_model(pair, unseen):
    table, stored = pair
    test = asked(table, unseen)
    wanted = pt.predict(table, test, response="y", unseen=unseen)
    found = pt.predict(stored, test, response="y", unseen=unseen)
    assert by_profile(found).to_dict() == pytest.approx(by_profile(wanted).to_dict(), rel=1e-13)
    assert found.attrs == wanted.attrs


@pytest.mark.parametrize("unseen", ["raise", "drop", "marginal"])
@pytest.mark.parametrize("model", ["stored", "in memory"])
def test_predict__for_a_stored_population(pair, tmp_path, at_once, unseen, model):
    table, stored = pair
    test = asked(table, unseen)
    people = pt.store_table(test, tmp_path / "people.zarr", chunk=5)
    wanted = pt.predict(table, test, response="y", unseen=unseen)
    found = pt.predict(stored if model == "stored" else table, people, response="y", unseen=unseen)
    assert isinstance(found, pt.results.StoredTable)
    assert by_profile(found.to_table()).to_dict() == pytest.approx(by_profile(wanted).to_dict(), rel=1e-13)


def test_predict__sums_a_response_out_of_a_stored_population(pair, tmp_path, at_once):
    table, stored = pair
    other = people(32, (2, 3, 20), share=0.8)
    known = set(by_profile(pt.marginal(table, ["s", "x"])).index)
    other = other[[(s, x) in known for _, s, x in other.indexes["profile"]]]
    found = pt.predict(stored, pt.store_table(other, tmp_path / "other.zarr", chunk=7), response="y")
    wanted = pt.predict(table, other, response="y")
    assert by_profile(found.to_table()).to_dict() == pytest.approx(by_profile(wanted).to_dict(), rel=1e-13)


def test_predict__refuses_as_in_memory(pair, tmp_path):
    _, stored = pair
    test = pt.tabulate({"s": [0, 1], "x": [3, 99]})
    with pytest.raises(pt.UnknownCategoryError):
        pt.predict(stored, test, response="y")
    with pytest.raises(pt.UnknownCategoryError):
        pt.predict(stored, pt.store_table(test, tmp_path / "test.zarr"), response="y")
    with pytest.raises(pt.UnknownAttributeError):
        pt.predict(stored, pt.tabulate({"s": [0, 1]}), response="y")
    with pytest.raises(pt.UnknownAttributeError):
        pt.predict(stored, pt.store_table(pt.tabulate({"s": [0, 1]}), tmp_path / "short.zarr"), response="y")


def test_conditions__of_a_stored_table_stay_on_disk(pair):
    table, stored = pair
    for condition in (pt.utility, pt.realism):
        found = condition(stored, response="y", protected="s")
        wanted = condition(table, response="y", protected="s")
        assert isinstance(found, pt.results.StoredMarginal)
        assert by_profile(found.in_memory().target).to_dict() == pytest.approx(by_profile(wanted.target).to_dict())


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
