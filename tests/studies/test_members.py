"""Members: the same numbers whatever the workers and interruptions."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import joblib
import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.executing import Failure
from purtensor.studies.members import describe_failures, identity, run_members


def noisy(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A member whose time depends on its draw, so that workers finish out of order."""
    value = rng.random(3)
    time.sleep(0.002 * value[0])
    return {"value": value, "count": np.array(rng.integers(100))}


@pytest.mark.parametrize("workers", [2, 5])
def test_run_members__workers_change_no_bit(workers: int) -> None:
    one, many = run_members(noisy, 20, seed=3), run_members(noisy, 20, seed=3, workers=workers)
    assert set(one) == {"value", "count"}
    assert all(np.array_equal(one[name], many[name]) for name in one)
    assert len(np.unique(one["value"])) == 60


@pytest.mark.parametrize("kind", ["joblib threads", "a process", "dask"])
def test_run_members__executors_change_no_bit(kind: str) -> None:
    one = run_members(noisy, 7, seed=3)
    if kind == "dask":
        distributed = pytest.importorskip("distributed")
        with distributed.Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
            many = run_members(noisy, 7, seed=3, executor=client)
    elif kind == "a process":
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            many = run_members(noisy, 7, seed=3, executor=pool)
    else:
        many = run_members(noisy, 7, seed=3, executor=joblib.Parallel(n_jobs=3, prefer="threads"))
    assert all(np.array_equal(one[name], many[name]) for name in one)


def fragile(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """A member that fails, now and then, by its own draw."""
    found = noisy(rng)
    if found["count"] < 40:
        raise ArithmeticError(f"{found['count']} is too small")
    return found


@pytest.mark.parametrize("workers", [1, 4])
def test_run_members__failures_are_told_and_the_others_go_on(workers: int, tmp_path: Path) -> None:
    everyone = run_members(noisy, 20, seed=3)["count"]
    failures: list[Failure] = []
    told: list[int] = []
    store = tmp_path / "members.npz"
    found = run_members(
        fragile, 20, seed=3, workers=workers, store=store, on_member=told.append, on_failure=failures.append
    )
    assert found["count"].tolist() == everyone[everyone >= 40].tolist()
    assert sorted(failure.member for failure in failures) == np.flatnonzero(everyone < 40).tolist()
    assert all(isinstance(failure.error, ArithmeticError) for failure in failures)
    assert told[-1] == 20
    assert run_members(noisy, 20, seed=3, store=store)["count"].tolist() == everyone.tolist()  # tried again


def test_run_members__raises_what_nobody_wants_to_be_told(tmp_path: Path) -> None:
    store = tmp_path / "members.npz"
    with pytest.raises(ArithmeticError, match="too small"):
        run_members(fragile, 20, seed=3, store=store)
    with pytest.raises(ArithmeticError, match="never"):
        run_members(_broken, 3, seed=3, on_failure=lambda failure: None)


def _broken(rng: np.random.Generator) -> dict[str, np.ndarray]:
    raise ArithmeticError("never")


def test_failed_members__says_how_many_and_why() -> None:
    assert describe_failures(()) == {}
    one = [Failure(3, ValueError("bad"), "")]
    assert describe_failures(one) == {"failed": "1 member, left out: number 3 by ValueError: bad"}


def test_run_members__members_are_children_of_the_seed() -> None:
    found = run_members(noisy, 4, seed=9)["value"]
    children = np.random.SeedSequence(9).spawn(4)
    assert all(np.array_equal(row, np.random.default_rng(child).random(3)) for row, child in zip(found, children))
    assert np.array_equal(run_members(noisy, 2, seed=9)["value"], found[:2])
    assert not np.array_equal(run_members(noisy, 4, seed=10)["value"], found)


def test_run_members__goes_on_after_an_interruption(tmp_path: Path) -> None:
    store, made, lock = tmp_path / "members.npz", [], threading.Lock()

    def breaking(rng: np.random.Generator) -> dict[str, np.ndarray]:
        with lock:
            made.append(1)
        if len(made) == 8:
            raise KeyboardInterrupt
        return noisy(rng)

    with pytest.raises(KeyboardInterrupt):
        run_members(breaking, 20, seed=3, store=store)
    told: list[int] = []
    found = run_members(breaking, 20, seed=3, store=store, on_member=told.append)
    assert told[0] >= 6  # what was finished and taken in is not made again
    assert told[-1] == 20
    assert np.array_equal(found["value"], run_members(noisy, 20, seed=3)["value"])
    before = len(made)
    run_members(breaking, 20, seed=3, store=store)
    assert len(made) == before


def test_run_members__takes_what_it_needs_from_a_larger_store(tmp_path: Path) -> None:
    store = tmp_path / "members.npz"
    larger = run_members(noisy, 6, seed=1, store=store)
    assert np.array_equal(run_members(noisy, 4, seed=1, store=store)["value"], larger["value"][:4])


def test_run_members__refuses_a_damaged_store(tmp_path: Path) -> None:
    store = tmp_path / "members.npz"
    run_members(noisy, 6, seed=1, store=store)
    whole = store.read_bytes()
    for damaged in (whole[:100], b"", whole[:150] + bytes([whole[150] ^ 255]) + whole[151:]):
        store.write_bytes(damaged)
        with pytest.raises(pt.errors.FileFormatError, match="damaged"):
            run_members(noisy, 6, seed=1, store=store)


def test_run_members__refuses_a_store_of_other_findings(tmp_path: Path) -> None:
    store = tmp_path / "members.npz"
    np.savez(store, member=np.array([0, 2]), worth=np.ones((2, 3)))
    with pytest.raises(
        pt.errors.FileFormatError, match=r"members\.npz .* results differ from those computed now; delete it"
    ):
        run_members(noisy, 4, seed=1, store=store)


@pytest.mark.parametrize(("number", "workers"), [(0, 1), (1, 0)])
def test_run_members__refuses_none(number: int, workers: int) -> None:
    with pytest.raises(pt.InvalidOptionError, match="at least 1"):
        run_members(noisy, number, seed=1, workers=workers)


def test_identity__is_of_settings_and_data() -> None:
    data = np.arange(6.0)
    one = identity({"strength": 1e-4}, data)
    assert one == identity({"strength": 1e-4}, data.copy())
    others = [
        identity({"strength": 1e-3}, data),
        identity({"strength": 1e-4}, data + 1),
        identity({"strength": 1e-4}, data.reshape(2, 3)),
    ]
    assert len({one, *others}) == 4
