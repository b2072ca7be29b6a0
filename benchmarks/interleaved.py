"""Ratios of times that a noisy machine cannot easily spoil: contenders take turns, and each round gives a ratio."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import TypeAlias

import numpy as np

from purtensor._typing import FloatArray

Clock: TypeAlias = Callable[[], float]


def interleaved_seconds(
    contenders: Mapping[str, Callable[[], object]],
    *,
    rounds: int,
    at_least: float = 2e-3,
    clock: Clock = time.perf_counter,
) -> dict[str, list[float]]:
    """Return the seconds of one call of each contender in each round, after a warm-up call.

    Within a round every contender is called until `at_least` seconds have passed, in turns of opposite order in
    every other round. `time.process_time` as the clock leaves out what other processes took, and adds up threads.
    """
    repeats = {name: _calls_for(call, at_least, clock) for name, call in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds):
        for name in list(contenders)[:: 1 if turn % 2 == 0 else -1]:
            seconds[name].append(_timed(contenders[name], repeats[name], clock))
    return seconds


def ratio(seconds: Mapping[str, list[float]], of: str, to: str) -> float:
    """Return the median over the rounds of the time of one contender over that of the other."""
    return median(a / b for a, b in zip(seconds[of], seconds[to], strict=True))


def scaling_in_place(values: FloatArray) -> Callable[[], object]:
    """Return the yardstick of memory speed: numpy scales a copy of the array in place."""
    copy = values.copy()
    factor = np.float64(1.0)  # any factor costs the same, and this one keeps the values
    return lambda: np.multiply(copy, factor, out=copy)


def _calls_for(call: Callable[[], object], at_least: float, clock: Clock) -> int:
    call()
    once = _timed(call, 1, clock)
    return max(1, int(at_least / max(once, 1e-9)))


def _timed(call: Callable[[], object], repeats: int, clock: Clock) -> float:
    start = clock()
    for _ in range(repeats):
        call()
    return (clock() - start) / repeats
