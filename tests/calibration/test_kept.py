"""Calibrations that are kept: pickled, copied, and their evidence saved; masses below 0 that go nowhere else."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.solving.dual import ascent

PEOPLE = pd.DataFrame({"sex": list("ffffmmmmmm"), "x": [3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3.5]})
SEX = pt.total(1, by="sex", target={"f": 5.2, "m": 4.8})


@pytest.mark.parametrize("through", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["copy", "pickle"])
def test_calibration__comes_back_whole(through):
    c = pt.calibrate(PEOPLE, [SEX, pt.total("x", target=42.0)], bounds=(0.5, 2.0))
    again = through(c)
    pd.testing.assert_series_equal(again.weights, c.weights)
    assert str(again) == str(c)
    np.testing.assert_array_equal(again.refitted(np.ones((10, 1)) * 1.1), c.refitted(np.ones((10, 1)) * 1.1))


def test_result__is_saved_with_its_proof(tmp_path):
    c = pt.calibrate(PEOPLE, [SEX, pt.soft(pt.total("x", target=42.0), sd=1.0)])
    pt.save(c.result, tmp_path / "weights.nc")
    loaded = pt.load(tmp_path / "weights.nc")
    np.testing.assert_array_equal(loaded.table.values, c.result.table.values)
    assert loaded.certified
    assert pt.verify(loaded).passed
    with pytest.raises(pt.InvalidOptionError, match=r"a calibration must be saved as \.nc.*its \.weights"):
        pt.save(c, tmp_path / "calibration.csv")


HOMES = {"id": [1, 2, 3, 4, 5], "tenure": ["own", "rent", "own", "rent", "own"]}
MEMBERS = {"id": [1, 1, 2, 3, 3, 3, 4, 4, 5], "sex": list("fmmffmfmf"), "age": [3.0, 1, 4, 1, 5, 9, 2, 6, 5]}


def questions():
    """Arguments of calibrations of every shape: soft and bounded, of households, of persons who share a weight."""
    x = pt.total("x", target=42.0)
    replicates = np.tile([[1.0, 1.1]], (10, 1)) + 0.1 * np.arange(20.0).reshape(10, 2) % 0.3
    yield (PEOPLE, [SEX, pt.soft(x, sd=1.0)]), {"bounds": (0.5, 2.0), "replicates": replicates}
    yield (PEOPLE, [SEX, x]), {"distance": "linear", "weights": [0.0, *range(1, 10)], "bounds": None}
    yield (PEOPLE, [pt.soft(SEX, sd=1.0)]), {"total": "free", "size": 100.0}
    tenure = pt.total(1, by="tenure", target={"own": 60, "rent": 40})
    sex = pt.total(1, by="sex", target={"f": 95, "m": 80})
    yield (HOMES, [tenure, sex]), {"members": MEMBERS, "key": "id", "relative_to": "scaled", "bounds": (0.3, 3)}
    yield (MEMBERS, [pt.total(1, by="sex", target={"f": 4.5, "m": 4.5})]), {"key": "id"}


@pytest.mark.parametrize("question", list(questions()), ids=["soft", "linear", "free", "households", "persons"])
def test_calibration__comes_back_from_a_file(tmp_path, question):
    arguments, options = question
    c = pt.calibrate(*arguments, **options)
    pt.save(c, tmp_path / "calibration.nc")
    again = pt.load(tmp_path / "calibration.nc")
    np.testing.assert_array_equal(again.weights, c.array)
    assert again.summary() == c.summary()
    pd.testing.assert_frame_equal(again.controls, c.controls)
    assert again.deff == c.deff
    np.testing.assert_equal(again.replicates, c.replicates)
    assert pt.verify(again.result).passed
    if c.members is not None:
        np.testing.assert_array_equal(again.member_weights, c.member_weights)
        assert again.estimate(MEMBERS["age"]) == c.estimate("age")
        assert str(again.tightest_bounds()) == str(c.tightest_bounds())
    other = np.column_stack([c.units.per_record * factor for factor in (1.0, 1.3)])
    np.testing.assert_allclose(again.refitted(other), c.refitted(other), rtol=1e-9)
    with pytest.raises(pt.UnknownAttributeError, match="'age'"):
        again.estimate("age")


def test_negative_weights__of_the_linear_distance_are_no_table_of_masses():
    counts = pt.tabulate({"a": [0, 1, 2], "b": [0, 1, 2]})
    rows = [pt.total(1, target=3.0), pt.total("a", target=-2.0)]
    table = pt.project(counts, rows, distance="linear").table
    assert table.values.min() < -1
    bounded = pt.project(counts, [rows[0], pt.total("a", target=1.0)], distance="linear", ratio_bounds=(0, None)).table
    assert bounded.values.min() >= 0
    for use in (
        pt.entropy,
        lambda p: pt.kl_divergence(p, counts),
        lambda p: pt.sample(p, 3, seed=1),
        lambda p: pt.predict(p, p, response="a"),
        lambda p: pt.round_counts(p, total=3, seed=1),
    ):
        with pytest.raises(pt.InvalidTableError, match=r"a=2, b=2.*not negative"):
            use(table)


def test_rows_of_other_kinds__are_refused_for_tables_on_disk_by_name():
    pytest.importorskip("dask")
    table = pt.to_dense(pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}))
    for constraint in (pt.total("a", target=1.0), pt.soft(pt.Marginal(table.sum("b"))), pt.mean("a", target=0.5)):
        with pytest.raises(pt.InvalidOptionError, match=r"tables on disk, got <.*with a table in memory"):
            pt.project(table.chunk(a=1), constraint)


def interrupting_at(monkeypatch, module, name, count):
    """Let Ctrl-C come at a Newton step, or in place of another call of a module."""
    real, made = getattr(module, name), iter(range(1, 10**6))

    def call(*arguments, **options):
        if next(made) == count:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(module, name, call)


@pytest.mark.parametrize("step", [1, 4, 7])
def test_ctrl_c__ends_replicates_and_curves_and_leaves_a_state_of_one_calibration(step, monkeypatch):
    controls = [SEX, pt.total("x", target=42.0)]
    c = pt.calibrate(PEOPLE, controls)
    many = pd.concat([PEOPLE] * 5, ignore_index=True)
    fitted = pt.calibrate(many, [pt.total("x", target=205.0), pt.total(1, target=51.0)])
    interrupting_at(monkeypatch, ascent, "_step", step)
    with pytest.raises(KeyboardInterrupt):
        fitted.bootstrap(20, seed=1)
    monkeypatch.undo()
    interrupting_at(monkeypatch, ascent, "_step", step)
    with pytest.raises(KeyboardInterrupt):
        c.bound_curve(5)
    monkeypatch.undo()
    interrupting_at(monkeypatch, ascent, "_step", 1)
    state = pt.calibrate(PEOPLE, controls, on_failure="return")
    assert state.result.termination.name == "INTERRUPTED"
    assert not state.result.certified
    assert "interrupted" in state.summary()["ending"]
