"""Tables that are changed during a call: refused, whoever changes them, and without any the answer stays the same."""

from __future__ import annotations

import importlib
import threading

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.options import refuse_changes


def posed(seed=1, cells=300):
    rng = np.random.default_rng(seed)
    records = {"a": rng.integers(0, 3, cells), "b": rng.integers(0, 4, cells), "c": rng.integers(0, 5, cells)}
    target = {name: rng.permutation(codes) for name, codes in records.items()}
    constraints = pt.marginals_of(pt.tabulate(target), "a b | b c")
    return pt.tabulate(records) + 0.5, constraints


@pytest.mark.parametrize("solver", [None, pt.IPF(), pt.Newton(), pt.LBFGS()], ids=str)
@pytest.mark.parametrize("changed", ["reference", "target"])
def test_project__refuses_tables_that_are_changed_during_the_call(solver, changed):
    reference, constraints = posed()
    table = reference if changed == "reference" else constraints[1].target

    def write(_):
        table.values.reshape(-1)[0] *= 1.5

    with pytest.raises(pt.errors.InvalidTableError, match="must stay as it is during the call"):
        pt.project(reference, constraints, solver=solver, callback=write, on_failure="return")


def test_project__refuses_tables_that_another_thread_writes_into():
    reference, constraints = posed()
    begun, written = threading.Event(), threading.Event()

    def write():
        begun.wait()
        reference.values[...] = reference.values[::-1].copy()
        written.set()

    def wait(_):
        begun.set()
        written.wait()

    other = threading.Thread(target=write)
    other.start()
    with pytest.raises(pt.errors.InvalidTableError, match="the reference must stay"):
        pt.project(reference, constraints, callback=wait, on_failure="return")
    other.join()


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("relax.run_general", lambda table, given: pt.relax(table, given, soft=0)),
        ("diagnose.diagnose_table", pt.diagnose),
        ("diagnose.diagnose_rows", lambda table, given: pt.diagnose(table, given, ratio_bounds=(0.1, 10))),
    ],
)
def test_relax_and_diagnose__refuse_tables_that_are_changed_during_the_call(place, call, monkeypatch):
    reference, constraints = posed()
    call(reference, constraints)
    module = importlib.import_module(f"purtensor.projection.{place.split('.')[0]}")
    own = getattr(module, place.split(".")[1])

    def run_and_write(*arguments, **options):
        found = own(*arguments, **options)
        constraints[1].target.values.reshape(-1)[0] *= 1.5
        return found

    monkeypatch.setattr(module, place.split(".")[1], run_and_write)
    with pytest.raises(pt.errors.InvalidTableError, match="must stay as it is during the call"):
        call(reference, constraints)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_refuse_changes__sees_every_entry(kind):
    table = pt.to_dense(pt.tabulate({"a": list(range(37)), "b": list(range(37))}, weights=np.ones(37)))
    table = table.copy(data=np.zeros(table.shape, dtype=kind))
    for at in (0, 700, 1368):
        with pytest.raises(pt.errors.InvalidTableError), refuse_changes(table, ()):
            table.values.reshape(-1)[at] = 1 - table.values.reshape(-1)[at]
    with refuse_changes(table, ()):
        table.values[0, 0] = table.values[0, 0]


def test_refuse_changes__sees_an_exchange():
    table = pt.tabulate({"a": ["x", "y"]}, weights=[1.0, 2.0])
    with pytest.raises(pt.errors.InvalidTableError), refuse_changes(table, ()):
        table.values[...] = [2.0, 1.0]
