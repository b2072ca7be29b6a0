from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import joblib
import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.progress import members_line


def table(weights):
    return pt.tabulate({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1]}, weights=weights)


TABLES = [table([n, 1, 2, 3]) for n in range(1, 8)]
TARGET = pt.marginals_of(table([5, 2, 1, 4]), ["a", "b"])


def drawn(rng):
    return table(rng.integers(1, 50, 4))


def to_own_margins(reference):
    uneven = reference.copy(data=reference.values[::-1])
    return pt.marginals_of(uneven, ["a", "b"])


def values(ensemble):
    return np.array([result.table.values for result in ensemble.results])


EXECUTORS = {
    "threads": lambda: ThreadPoolExecutor(3),
    "one process": lambda: ProcessPoolExecutor(1, mp_context=get_context("spawn")),
    "joblib": lambda: 2,
    "joblib threads": lambda: joblib.Parallel(n_jobs=3, prefer="threads"),
}


@pytest.mark.parametrize("kind", EXECUTORS)
@pytest.mark.slow
def test_project_many__same_whatever_runs_it(kind):
    executor = EXECUTORS[kind]()
    ensemble = pt.project_many([drawn] * 6, to_own_margins, executor=executor, seed=3)
    assert len(ensemble) == 6
    assert np.array_equal(values(ensemble), values(pt.project_many([drawn] * 6, to_own_margins, seed=3)))
    assert not np.array_equal(values(ensemble)[0], values(ensemble)[1])
    if hasattr(executor, "shutdown"):
        executor.shutdown()


def test_project_many__a_dask_client():
    distributed = pytest.importorskip("distributed")
    with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
        ensemble = pt.project_many(TABLES, TARGET, executor=client)
    for reference, result in zip(TABLES, ensemble.results):
        assert np.array_equal(result.table.values, pt.project(reference, TARGET).table.values)


def test_project_many__one_reference_many_sets():
    sets = [pt.marginals_of(other, ["a"]) for other in TABLES]
    ensemble = pt.project_many(TABLES[0], sets)
    for target, result in zip(sets, ensemble.results):
        reached = pt.marginal(result.table, "a").values
        assert np.allclose(reached / reached.sum(), target[0].target.values / target[0].target.values.sum())


def test_project_many__one_set_each():
    ensemble = pt.project_many(TABLES[:2], [TARGET, TARGET[:1]])
    assert [len(result.constraints) for result in ensemble.results] == [2, 1]


def test_project_many__failures_are_reported_and_the_others_go_on():
    impossible = table([1, 1, 0, 0])
    ensemble = pt.project_many([TABLES[0], impossible, TABLES[1]], TARGET)
    assert [result is None for result in ensemble.results] == [False, True, False]
    (failure,) = ensemble.failures
    assert failure.member == 1
    assert isinstance(failure.error, pt.InfeasibleError)
    assert "InfeasibleError" in failure.traceback


def test_project_many__options_reach_every_member():
    ensemble = pt.project_many(TABLES, pt.marginals_of(TABLES[0], [("a", "b")]), certificate=False, solver=pt.IPF())
    assert [result.certified for result in ensemble.results] == [False] * len(TABLES)
    stopped = pt.project_many(TABLES[1:2], TARGET, max_iterations=0)
    assert isinstance(stopped.failures[0].error, pt.NotConvergedError)


@pytest.mark.parametrize(
    ("references", "constraints", "options", "message"),
    [
        (TABLES[:2], [TARGET] * 3, {}, "2 references and 3 constraint sets"),
        ([drawn], TARGET, {}, "give a seed"),
        (["counts"], TARGET, {}, "got str"),
        (TABLES, TARGET, {"executor": "threads"}, "executor must be None"),
    ],
)
def test_project_many__refuses(references, constraints, options, message):
    with pytest.raises(pt.InvalidOptionError, match=message):
        pt.project_many(references, constraints, **options)


def test_members_line__tells_what_is_left():
    assert members_line(10, 40, 2, 5.0) == "10 of 40 done, 2 failed, about 15 s left"
    assert members_line(1, 1, 0, 5.0) == "1 of 1 done, about 0 s left"


def test_too_large_error__survives_the_way_between_processes():
    copied = pickle.loads(pickle.dumps(pt.TooLargeError("too large", 5, 3)))
    assert (str(copied), copied.bytes_needed, copied.bytes_available) == ("too large", 5, 3)
