"""Calls that are lost with their worker: made again, or given up with a reason, on whatever runs dask."""

from __future__ import annotations

import os
import signal

import dask
import pytest

import purtensor as pt
from purtensor.outofcore import engine

pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")


@pytest.fixture
def small(monkeypatch):
    """A cluster of one worker, a thread of this process, that is looked after often."""
    monkeypatch.setattr(engine, "_LOOK", 0.05)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", silence_logs=60
        ) as local,
        distributed.Client(local) as client,
    ):
        yield local, client


def given_up(local):
    """Do to its worker what a LocalCluster does to one that it misses for too long."""
    local.sync(local.workers.pop(0).close)


def test_active_client__is_whom_dask_would_ask(small):
    _, client = small
    assert engine.active_client() is client
    with dask.config.set(scheduler="synchronous"):
        assert engine.active_client() is None
        assert engine.workers() == engine.Workers(1, None)
    assert engine.workers().at_once == 1


def test_map_reduce__a_cluster_gives_back_a_worker_that_it_gave_up(small):
    local, client = small
    given_up(local)
    assert engine.map_reduce(abs, sum, range(-20, 0)) == 210
    assert len(client.scheduler_info()["workers"]) == 1


def test_map_each__nobody_is_there(small, monkeypatch):
    local, _ = small
    given_up(local)
    monkeypatch.setattr(engine, "_call_back", lambda _: None)
    with (
        dask.config.set({engine.WAIT_OPTION: 0.2}),
        pytest.raises(pt.errors.StoreError, match=r"no worker for 0\.2 seconds.*then resume"),
    ):
        engine.map_each(abs, range(3))


def test_map_each__within_a_call_of_the_only_worker(small):
    _, client = small
    assert client.submit(engine.map_each, abs, [-3, 2], pure=False).result(timeout=30) == [3, 2]


def test_map_each__an_error_of_a_call_is_its_own(small):
    with pytest.raises(ValueError, match="invalid literal"):
        engine.map_each(int, ["1", "x", "2"])


def killed(error):
    def computed(client, calls):
        list(calls)
        raise error

    return computed


def test_map_each__a_call_that_kills_its_workers(small, monkeypatch):
    error = distributed.scheduler.KilledWorker("sweep_pass(12)-0f3a", None, 3)
    monkeypatch.setattr(engine, "compute_by", killed(error))
    with pytest.raises(pt.errors.StoreError, match=r"the call sweep_pass\(12\) was lost 3 times in one pass.*memory"):
        engine.map_each(abs, range(3))


def test_map_each__a_scheduler_that_forgets(small, monkeypatch):
    gone = distributed.client.FutureCancelledError("abs(1)-2", "scheduler-connection-lost", "Please check.")
    monkeypatch.setattr(engine, "compute_by", killed(gone))
    with pytest.raises(pt.errors.StoreError, match=r"scheduler of the workers is gone.*connection-lost.*then resume$"):
        engine.map_each(abs, range(3))


def dies_once(number, marker):
    if number == 1 and not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_map_reduce__a_process_of_the_pool_is_killed(tmp_path):
    with dask.config.set(scheduler="processes", num_workers=1):
        assert engine.map_reduce(dies_once, sum, range(9), str(tmp_path / "died")) == 36
    assert (tmp_path / "died").exists()


def test_map_each__processes_of_the_pool_die_always():
    with (
        dask.config.set(scheduler="processes", num_workers=1),
        pytest.raises(pt.errors.StoreError, match="a call was lost 3 times"),
    ):
        engine.map_each(os._exit, [1])
