"""The same call on many items: what ends in an error is told, also where a worker itself has ended."""

from __future__ import annotations

from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing

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


def test_outcomes__refuses_what_runs_nothing():
    with pytest.raises(pt.InvalidOptionError, match="executor is None"):
        list(outcomes(halved, [2], "threads"))
