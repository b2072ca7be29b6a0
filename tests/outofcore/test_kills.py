"""Processes that are killed: drivers, workers, a scheduler. Nothing is lost, and nobody waits for ever."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import dask
import numpy as np
import pytest

import purtensor as pt
from purtensor.outofcore.project import project_stored
from purtensor.solving.termination import Termination
from tests.outofcore.test_project import SETS, by_profile, people

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
KILLS = 20 if THOROUGH else 1
"""Starting a worker takes seconds: many kills are tried by hand."""

STOPS = {"Newton": (1, 2, 3), "IPF": (1, 3, 5, 7, 9)} if THOROUGH else {"Newton": (2,)}

DRIVER = textwrap.dedent(
    """
    import dask, sys, time
    import purtensor as pt
    from purtensor.outofcore.project import project_stored

    path, rest_at, how, solver, most = sys.argv[1:]

    def told(stage):
        print(stage.iteration, flush=True)
        if stage.iteration == int(rest_at):
            time.sleep(60)

    with dask.config.set(scheduler="synchronous"):
        stored = pt.results.open_table(path)
        if how == "new":
            data = pt.results.open_table(path.replace("t.zarr", "data.zarr"))
            project_stored(stored, pt.marginals_of(data, [("y", "s"), ("y", "x"), ("s", "x")]), part_profiles=150,
                           solver=getattr(pt, solver)(), max_iterations=int(most), on_failure="return", callback=told)
        else:
            pt.resume(stored.workspace, on_failure="return", callback=told)
    """
)


def stored_case(folder):
    table = people(21)
    pt.store_table(table * np.exp(np.random.default_rng(2).normal(size=table.shape)), folder / "data.zarr", chunk=100)
    return pt.store_table(table, folder / "t.zarr", chunk=100)


def wanted_of(folder):
    return pt.marginals_of(pt.results.open_table(folder / "data.zarr"), SETS["PUR"])


def assert_same_bits(result, expected):
    assert result.iterations == expected.iterations
    assert np.array_equal(by_profile(result.table.to_table()).values, by_profile(expected.table.to_table()).values)
    assert (result.residual, result.tv_bound, result.divergence) == (
        expected.residual,
        expected.tv_bound,
        expected.divergence,
    )
    for name in ("residual", "dual", "iteration"):
        assert np.array_equal(result.trace[name].values, expected.trace[name].values)


def killed_at(stored, iteration, how, solver, most=12, after=None):
    """Run a driver in a process of its own and kill it at rest after an iteration, or `after` seconds amid the next."""
    rest = str(iteration) if after is None else "-1"
    command = [sys.executable, "-c", DRIVER, str(stored.path), rest, how, solver, str(most)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
        for line in driver.stdout:
            if int(line) >= iteration:
                time.sleep(after or 0.0)
                os.kill(driver.pid, signal.SIGKILL)
                break
        driver.stdout.read()
        assert driver.wait() == -signal.SIGKILL
    return int(line)


@pytest.mark.parametrize(("solver", "stops"), STOPS.items(), ids=STOPS)
def test_resume__after_the_driver_was_killed_has_the_same_bits(tmp_path, solver, stops):
    (tmp_path / "whole").mkdir()
    with dask.config.set(scheduler="synchronous"):
        unbroken = stored_case(tmp_path / "whole")
        expected = project_stored(
            unbroken,
            wanted_of(tmp_path / "whole"),
            part_profiles=150,
            solver=getattr(pt, solver)(),
            max_iterations=12,
            on_failure="return",
        )
        stored = stored_case(tmp_path)
        for number, iteration in enumerate(stops):
            killed_at(stored, iteration, "on" if number else "new", solver)
        result = pt.resume(stored.workspace, on_failure="return")
    assert result.iterations > stops[-1]
    assert_same_bits(result, expected)


@pytest.mark.skipif(not THOROUGH, reason="five drivers take half a minute")
def test_resume__after_drivers_were_killed_at_random_times(tmp_path):
    (tmp_path / "whole").mkdir()
    rng, most = np.random.default_rng(8), 400
    with dask.config.set(scheduler="synchronous"):
        unbroken = stored_case(tmp_path / "whole")
        expected = project_stored(
            unbroken,
            wanted_of(tmp_path / "whole"),
            part_profiles=150,
            solver=pt.IPF(),
            max_iterations=most,
            on_failure="return",
        )
        stored, reached = stored_case(tmp_path), 0
        for number in range(5):
            reached = killed_at(stored, reached + 5, "on" if number else "new", "IPF", most, rng.uniform(0, 0.3))
        result = pt.resume(stored.workspace, on_failure="return")
    assert reached < expected.iterations
    assert_same_bits(result, expected)


class Killer(threading.Thread):
    """Kills a living worker, a random time after it is told to, until it has killed as many as it may."""

    def __init__(self, living, kills, on_kill=lambda: None):
        super().__init__(daemon=True)
        self.living, self.kills, self.on_kill = living, kills, on_kill
        self.killed, self.rng = [], np.random.default_rng(3)
        self.told, self.over = threading.Event(), threading.Event()

    def run(self):
        while len(self.killed) < self.kills:
            self.told.wait()
            if self.over.is_set():
                return
            time.sleep(float(self.rng.random()) * 0.05)  # an iteration takes about as long
            pids = self.living()
            if not pids:
                continue
            pid = int(self.rng.choice(pids))
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed.append(pid)
                self.told.clear()
                self.on_kill()

    def callback(self, stage):
        """Tell it to kill within one of the next iterations, and once all are killed let the run end."""
        self.told.set()
        return len(self.killed) >= self.kills and stage.iteration >= 3

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.told.set()
        self.join()


def assert_survived(result, killer, tmp_path):
    """Compare with a run of as many iterations that nobody disturbed."""
    assert len(set(killer.killed)) == killer.kills
    (tmp_path / "whole").mkdir()
    with dask.config.set(scheduler="synchronous"):
        expected = project_stored(
            stored_case(tmp_path / "whole"),
            wanted_of(tmp_path / "whole"),
            part_profiles=60,
            solver=pt.IPF(),
            max_iterations=result.iterations,
            on_failure="return",
        )
        assert_same_bits(result, expected)


def names_of(client):
    """The workers that have registered, by name; to kill one that still starts proves nothing."""
    return [worker["name"] for worker in client.scheduler_info(n_workers=-1)["workers"].values()]


def interrupted_run(stored, tmp_path, callback):
    return project_stored(
        stored,
        wanted_of(tmp_path),
        part_profiles=60,
        solver=pt.IPF(),
        max_iterations=10**6,
        on_failure="return",
        callback=callback,
    )


@pytest.mark.skipif(not THOROUGH, reason="minutes: nannies start each worker anew; below, the test does so itself")
def test_project__workers_killed_at_random_lose_nothing(tmp_path):
    stored = stored_case(tmp_path)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=60
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def living():
            nannies = [cluster.workers[name] for name in names_of(client) if name in cluster.workers]
            return [nanny.pid for nanny in nannies if nanny.pid]

        with Killer(living, KILLS) as killer:
            result = interrupted_run(stored, tmp_path, killer.callback)
        assert result.termination is Termination.INTERRUPTED  # by the callback, not for want of workers
    assert_survived(result, killer, tmp_path)


class Machines:
    """A scheduler and workers in processes of their own, as on other machines; nobody but the test starts a worker."""

    def __init__(self, folder):
        self.file, self.workers = folder / "scheduler.json", {}
        self.scheduler = self._start(
            "dask_scheduler", "--port", "0", "--host", "127.0.0.1", "--dashboard-address", ":0"
        )
        while not self.file.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.start_worker()
        self.start_worker()

    def _start(self, what, *options):
        command = [sys.executable, "-m", f"distributed.cli.{what}", *options, "--no-dashboard", "--scheduler-file"]
        return subprocess.Popen([*command, self.file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_worker(self):
        name = f"worker {len(self.workers)}"
        self.workers[name] = self._start("dask_worker", "--no-nanny", "--nthreads", "1", "--name", name)

    def living(self):
        names = names_of(self.client)
        return [self.workers[name].pid for name in names if self.workers[name].poll() is None]

    def __enter__(self):
        self.client = distributed.Client(scheduler_file=str(self.file))
        return self

    def __exit__(self, *_):
        self.client.close()
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
            process.wait()


def test_project__scheduler_and_workers_of_their_own_are_killed(tmp_path):
    stored = stored_case(tmp_path)
    with Machines(tmp_path) as machines:
        with Killer(machines.living, KILLS, machines.start_worker) as killer:
            result = interrupted_run(stored, tmp_path, killer.callback)
        assert_survived(result, killer, tmp_path)

        def end_scheduler(stage):
            if stage.iteration == result.iterations + 1:
                machines.scheduler.kill()

        with pytest.raises(pt.errors.StoreError, match=r"scheduler of the workers is gone.*then resume"):
            pt.resume(result.path, callback=end_scheduler)
    with dask.config.set(scheduler="synchronous"):
        after = pt.resume(result.path, max_iterations=result.iterations + 2, on_failure="return")
    assert after.iterations == result.iterations + 2
