"""Members: the same numbers whatever the workers and interruptions."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

import purtensor as pt
from purtensor.experiments.members import identity, run_members


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
        with pytest.raises(pt.FileFormatError, match="damaged"):
            run_members(noisy, 6, seed=1, store=store)


@pytest.mark.parametrize(("number", "workers"), [(0, 1), (1, 0)])
def test_run_members__refuses_none(number: int, workers: int) -> None:
    with pytest.raises(pt.InvalidOptionError, match="at least 1"):
        run_members(noisy, number, seed=1, workers=workers)


def test_identity__is_of_settings_and_data() -> None:
    data = np.arange(6.0)
    one = identity({"strength": 1e-4}, data)
    assert one == identity({"strength": 1e-4}, data.copy())
    others = [identity({"strength": 1e-3}, data), identity({"strength": 1e-4}, data + 1),
              identity({"strength": 1e-4}, data.reshape(2, 3))]  # fmt: skip
    assert len({one, *others}) == 4
