"""Measures of tables on disk, against those of the same tables in memory."""

from __future__ import annotations

import math

import numpy as np
import pytest

import purtensor as pt
from purtensor.fairness.disparity import parity_violation
from purtensor.tables.store import pairs as stored_pairs

pytest.importorskip("zarr")


def drawn(seed, share=1.0, x=20):
    rng = np.random.default_rng(seed)
    profiles = np.stack(np.meshgrid(np.arange(2), np.arange(3), np.arange(x), indexing="ij"), -1).reshape(-1, 3)
    profiles = profiles[rng.random(len(profiles)) < share]
    records = {name: profiles[:, k] for k, name in enumerate("ysx")}
    return pt.tabulate(records, weights=rng.gamma(0.3, size=len(profiles)) + 1e-9)


def on_disk(table, tmp_path, name):
    order = np.random.default_rng(5).permutation(table.size)
    return pt.store_table(table[order], tmp_path / f"{name}.zarr", chunk=17)


@pytest.fixture(params=[1 << 20, 50])
def at_once(request, monkeypatch):
    monkeypatch.setattr(stored_pairs, "ROWS_AT_ONCE", request.param)


@pytest.mark.parametrize("measure", [pt.kl_divergence, pt.total_variation])
@pytest.mark.parametrize("where", ["both", "first", "second"])
def test_measures__of_two_tables(tmp_path, at_once, measure, where):
    p, q = drawn(1, 0.7), drawn(2)
    expected = measure(p, q)
    one = on_disk(p, tmp_path, "p") if where != "second" else p
    other = on_disk(q, tmp_path, "q") if where != "first" else q
    assert measure(one, other) == pytest.approx(expected, rel=1e-14)
    assert 0 < expected < math.inf


def test_kl_divergence__small_or_infinite(tmp_path, at_once):
    p, q = drawn(3), drawn(4, 0.6)
    assert pt.kl_divergence(on_disk(p, tmp_path, "p"), on_disk(q, tmp_path, "q")) == math.inf
    near = p * (1 + 1e-8 * np.random.default_rng(0).normal(size=p.shape))
    found = pt.kl_divergence(pt.results.open_table(tmp_path / "p.zarr"), near)
    assert found == pytest.approx(pt.kl_divergence(p, near), rel=1e-12)
    assert 0 < found < 1e-15


def test_entropy__also_where_one_profile_has_nearly_all(tmp_path):
    p = drawn(5)
    assert pt.entropy(on_disk(p, tmp_path, "p")) == pytest.approx(pt.entropy(p), rel=1e-14)
    heavy = p.copy(data=np.where(np.arange(p.size) == 7, 1e12, p.values))
    assert pt.entropy(on_disk(heavy, tmp_path, "heavy")) == pytest.approx(pt.entropy(heavy), rel=1e-12)


def test_measures__refuse_what_does_not_match(tmp_path):
    p = on_disk(drawn(6), tmp_path, "p")
    with pytest.raises(pt.UnknownCategoryError, match=r"p has mass in x=2\d, a category that q does not list"):
        pt.kl_divergence(on_disk(drawn(7, x=26), tmp_path, "more"), p)
    with pytest.raises(pt.UnknownCategoryError, match=r"q has mass in x=2\d"):
        pt.total_variation(p, drawn(7, x=26))
    with pytest.raises(pt.UnknownAttributeError):
        pt.kl_divergence(p, pt.marginal(p, ["y", "s"]))


def test_pythagorean_defect__of_a_projection_on_disk(tmp_path, at_once):
    table, other = drawn(8), drawn(9)
    scopes = [("y", "s"), ("y", "x"), ("s", "x")]
    result = pt.project(on_disk(table, tmp_path, "t"), pt.marginals_of(other, scopes), tolerance=1e-13)
    feasible = on_disk(other, tmp_path, "p")
    assert abs(pt.pythagorean_defect(feasible, result)) < 1e-11
    elsewhere = drawn(10)
    expected = pt.pythagorean_defect(elsewhere, pt.project(table, pt.marginals_of(other, scopes), tolerance=1e-13))
    assert abs(expected) > 1e-3
    assert pt.pythagorean_defect(elsewhere, result) == pytest.approx(expected, rel=1e-9)
    short = table[3:]
    kept = pt.project(pt.store_table(short, tmp_path / "s.zarr"), pt.marginals_of(short * 2, scopes))
    with pytest.raises(pt.InvalidTableError, match="the reference has none"):
        pt.pythagorean_defect(feasible, kept)


def test_utility_error__and_parity_violation(tmp_path, at_once):
    test, predicted = drawn(11, 0.8), drawn(12)
    roles = {"response": "y", "protected": "s"}
    expected = pt.utility_error(test, predicted, **roles)
    one, other = on_disk(test, tmp_path, "test"), on_disk(predicted, tmp_path, "predicted")
    for pair in ((one, other), (test, other), (one, predicted)):
        assert pt.utility_error(*pair, **roles) == pytest.approx(expected, rel=1e-13)
    assert expected > 0
    assert parity_violation(one, **roles) == pytest.approx(parity_violation(test, **roles), rel=1e-13)
    with pytest.raises(pt.UnknownAttributeError):
        pt.utility_error(one, pt.marginal(predicted, ["y", "s"]), **roles)
    with pytest.raises(pt.UnknownAttributeError):
        pt.utility_error(pt.marginal(test, ["y", "s"]), other, **roles)
