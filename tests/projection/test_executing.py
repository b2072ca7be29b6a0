"""The same call on many items: what ends in an error is told, also where a worker itself has ended."""

from __future__ import annotations

import os
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing

import joblib
import pytest

import purtensor as pt
from purtensor.projection.executing import Failure, outcomes


def halved(number):
    if number % 2:
        raise ArithmeticError(f"{number} is odd")
    return number // 2


class Dying(Executor):
    """Its second worker ends without an answer; what was handed in and not asked for is cancelled."""

    def __init__(self):
        self.futures = []

    def submit(self, call, /, *arguments, **options):
        future = Future()
        self.futures.append(future)
        if len(self.futures) == 2:
            future.set_exception(BrokenExecutor("killed"))
        elif len(self.futures) < 4:
            future.set_result(call(*arguments, **options))
        return future


@pytest.mark.parametrize("executor", [None, 2])
def test_outcomes__numbers_and_failures(executor):
    found = dict(outcomes(halved, [4, 3, 8], executor))
    assert (found[0], found[2]) == (2, 4)
    failure = found[1]
    assert isinstance(failure, Failure)
    assert failure.member == 1
    assert str(failure.error) == "3 is odd"
    assert "ArithmeticError" in failure.traceback


def test_outcomes__a_worker_that_ends_fails_its_item_alone():
    dying = Dying()
    with closing(outcomes(halved, [4, 6, 8, 10], dying)) as ended:
        found = dict(next(ended) for _ in range(3))
    assert (found[0], found[2]) == (2, 4)
    assert isinstance(found[1].error, BrokenExecutor)
    assert dying.futures[3].cancelled()  # nobody waits for it any more


class Broken(Executor):
    """It took one call, and takes no other."""

    def __init__(self):
        self.taken = 0

    def submit(self, call, /, *arguments, **options):
        self.taken += 1
        if self.taken > 1:
            raise BrokenExecutor("no more")
        future = Future()
        future.set_result(call(*arguments, **options))
        return future


def test_outcomes__an_executor_that_takes_no_more_leaves_failures():
    found = dict(outcomes(halved, [4, 6, 8], Broken()))
    assert found[0] == 2
    assert [str(found[number].error) for number in (1, 2)] == ["no more", "no more"]


def test_outcomes__refuses_what_runs_nothing():
    with pytest.raises(pt.InvalidOptionError, match="executor must be None"):
        list(outcomes(halved, [2], "threads"))


def ending_at_three(number):
    if number == 3:
        os._exit(1)
    return number


@pytest.mark.parametrize("executor", [2, joblib.Parallel(n_jobs=2)])
def test_outcomes__a_joblib_worker_that_ends_leaves_failures(executor):
    found = dict(outcomes(ending_at_three, [1, 3, 5, 7], executor))
    assert sorted(found) == [0, 1, 2, 3]
    assert isinstance(found[1].error, BrokenExecutor)
    assert all(isinstance(one, Failure) or one == 2 * number + 1 for number, one in found.items())
