from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.distributed.project import project_stored
from tests.distributed.test_project import SETS, by_profile, people, targets

distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
KILLS = 20 if THOROUGH else 1
"""Starting a worker takes seconds: many kills are tried by hand."""

DRIVER = textwrap.dedent(
    """
    import dask, sys
    import purtensor as pt
    from purtensor.distributed.project import project_stored

    def told(stage):
        print(stage.iteration, flush=True)
        if stage.iteration == int(sys.argv[2]):
            import time
            time.sleep(60)

    with dask.config.set(scheduler="synchronous"):
        stored = pt.open_table(sys.argv[1])
        if sys.argv[3] == "new":
            data = pt.open_table(sys.argv[1].replace("t.zarr", "data.zarr"))
            project_stored(stored, pt.marginals_of(data, [("y", "s"), ("y", "x"), ("s", "x")]), part_profiles=150,
                           solver=getattr(pt, sys.argv[4])(), max_iterations=12, on_failure="return", callback=told)
        else:
            pt.resume(stored.workspace, on_failure="return", callback=told)
    """
)


def stored_case(folder):
    table = people(21)
    pt.store_table(table * np.exp(np.random.default_rng(2).normal(size=table.shape)), folder / "data.zarr", chunk=100)
    return pt.store_table(table, folder / "t.zarr", chunk=100)


def killed_at(stored, iteration, how, solver):
    """Run a driver in a process of its own and kill it once it has told of an iteration."""
    command = [sys.executable, "-c", DRIVER, str(stored.path), str(iteration), how, solver]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        for line in driver.stdout:
            if line.strip() == str(iteration):
                os.kill(driver.pid, signal.SIGKILL)
        assert driver.wait() == -signal.SIGKILL


STOPS = {"Newton": (1, 2, 3), "IPF": (1, 3, 5, 7, 9)} if THOROUGH else {"Newton": (2,)}


@pytest.mark.parametrize(("solver", "stops"), STOPS.items(), ids=STOPS)
def test_resume__after_the_driver_was_killed_has_the_same_bits(tmp_path, solver, stops):
    (tmp_path / "whole").mkdir()
    with dask.config.set(scheduler="synchronous"):
        unbroken = stored_case(tmp_path / "whole")
        data = pt.open_table(tmp_path / "whole" / "data.zarr")
        expected = project_stored(
            unbroken, pt.marginals_of(data, SETS["PUR"]), part_profiles=150, solver=getattr(pt, solver)(),
            max_iterations=12, on_failure="return",
        )  # fmt: skip
        stored = stored_case(tmp_path)
        for number, iteration in enumerate(stops):
            killed_at(stored, iteration, "on" if number else "new", solver)
        result = pt.resume(stored.workspace, on_failure="return")
    assert result.iterations == expected.iterations > stops[-1]
    assert np.array_equal(by_profile(result.table.to_table()).values, by_profile(expected.table.to_table()).values)
    assert (result.residual, result.tv_bound, result.divergence) == (
        expected.residual, expected.tv_bound, expected.divergence,
    )  # fmt: skip
    for name in ("residual", "dual", "iteration"):
        assert np.array_equal(result.trace[name].values, expected.trace[name].values)


def test_project__workers_killed_at_random_lose_nothing(tmp_path):
    stored = stored_case(tmp_path)
    constraints = pt.marginals_of(pt.open_table(tmp_path / "data.zarr"), SETS["PUR"])
    with dask.config.set(scheduler="synchronous"):
        expected = project_stored(stored, constraints, part_profiles=60, solver=pt.IPF(), max_iterations=7 * KILLS + 2,
                                  on_failure="return")  # fmt: skip
        bits = by_profile(expected.table.to_table()).values
    rng = np.random.default_rng(3)
    kills = []

    def kill_one(stage):
        if stage.iteration % 7 == 3 and len(kills) < KILLS:
            pids = [int(one) for one in client.run(os.getpid).values()]
            time.sleep(float(rng.random()) * 0.02)
            os.kill(int(rng.choice(pids)), signal.SIGKILL)
            kills.append(stage.iteration)

    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        result = project_stored(stored, constraints, part_profiles=60, solver=pt.IPF(), max_iterations=7 * KILLS + 2,
                                on_failure="return", callback=kill_one)  # fmt: skip
        assert np.array_equal(by_profile(result.table.to_table()).values, bits)
        assert result.tv_bound == expected.tv_bound
    assert len(kills) == KILLS


@pytest.fixture
def run(tmp_path):
    """A run that was stopped after two iterations."""
    with dask.config.set(scheduler="synchronous"):
        table = people(22)
        stored = pt.store_table(table, tmp_path / "t.zarr")
        yield project_stored(stored, targets(table, SETS["PUR"]), part_profiles=100, max_iterations=2,
                             on_failure="return")  # fmt: skip


def files(run, folder):
    return sorted(file for file in (run.path / folder).rglob("*") if file.is_file())


@pytest.mark.parametrize("folder", ["parts", "states"])
def test_resume__damage_is_told(run, folder):
    path = files(run, folder)[1]
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)
    with pytest.raises(pt.StoreError, match="damaged"):
        pt.resume(run.path, max_iterations=50)


def test_resume__a_state_is_gone(run):
    files(run, "states")[0].unlink()
    with pytest.raises(pt.StoreError, match="lacks the potentials"):
        pt.resume(run.path)


def test_resume__a_full_disk_leaves_the_last_checkpoint(run, monkeypatch):
    whole = pt.resume(run.path, max_iterations=2, on_failure="return").residual
    written = [0]
    real = os.fsync

    def filling(handle):
        written[0] += 1
        if written[0] > 5:
            raise OSError(28, "No space left on device")
        return real(handle)

    monkeypatch.setattr("os.fsync", filling)
    with pytest.raises(pt.StoreError, match=r"No space left.*then resume"):
        pt.resume(run.path, max_iterations=50)
    monkeypatch.undo()
    assert pt.resume(run.path, max_iterations=2, on_failure="return").residual == whole
    assert pt.resume(run.path, max_iterations=50).converged


def test_resume__nothing_to_go_on_from(tmp_path, run):
    with pytest.raises(pt.StoreError, match="holds 0 runs"):
        pt.resume(tmp_path / "elsewhere")
    (run.path / "checkpoint").unlink()
    with pytest.raises(pt.StoreError, match="holds no checkpoint"):
        pt.resume(run.path)


def test_resume__knows_what_was_asked(run):
    result = pt.resume(run.path.parent, max_iterations=60)
    assert result.converged
    assert [one.scope for one in result.constraints] == SETS["PUR"]
    assert result.reference.profiles == run.reference.profiles
