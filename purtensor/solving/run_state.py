"""The state of a run with its measured iterations, and the rules for slow progress and stagnation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.iterate import Record
from purtensor.solving.solvers.ipf.sweeper import columns_of
from purtensor.solving.spaces.space import P

PATIENCE = 1000
"""Iterations before a long run is doubted for the first time; the next comes after twice as many."""

LITTLE = 0.3
"""If the second half of the iterations reduces the residual to no less than this share, feasibility is checked."""

WINDOW = 400
"""The best residuals of consecutive windows of this many iterations are compared to detect stagnation."""

LARGEST_CHUNK = 200
"""Iterations of a step at most: two windows of a standstill and a step are 1,000 iterations."""

SLOWEST = 8000
"""Iterations after which a run is asked for the first time whether it still gets anywhere; then after twice as many."""

_TIMES_AS_MANY = 10
"""A run gets nowhere if so many times the iterations that it made would not halve its residual."""

# eps of float64: the rounding of a dual of size 1
_UNIT = 2.0**-52


@dataclass(slots=True)
class TraceLine:
    """One measured iteration."""

    record: Record
    iteration: int
    seconds: float
    tv_bound: float = float("nan")
    log_ratio_bound: float = float("nan")


class _Call(NamedTuple):
    """What a solver recorded in one call: after so many iterations, so many seconds, at so many an iteration."""

    records: Sequence[Record]
    done: int
    begun: float
    pace: float

    def line(self, record: Record) -> TraceLine:
        return TraceLine(record, self.done + record.iteration, self.begun + record.iteration * self.pace)


class Lines:
    """Lines of a trace; those of a call are made when they are read, for tiny tables are solved in less time.

    Attributes
    ----------
    last
        The last line.
    """

    __slots__ = ("_parts", "last")

    def __init__(self, first: TraceLine) -> None:
        self._parts: list[TraceLine | _Call] = [first]
        self.last = first

    def add(self, line: TraceLine) -> None:
        """Add a line."""
        self._parts.append(line)
        self.last = line

    def add_call(self, records: Sequence[Record], done: int, begun: float, pace: float) -> None:
        """Add what a solver recorded in one call, its times interpolated."""
        call = _Call(records, done, begun, pace)
        # all but the last are made when the trace is read, if it is
        if len(records) > 1:
            self._parts.append(call)
        if records:
            self.add(call.line(records[-1]))

    def __iter__(self) -> Iterator[TraceLine]:
        for part in self._parts:
            if isinstance(part, TraceLine):
                yield part
            else:
                yield from map(part.line, part.records[:-1])


_NO_BETTER, _JUMPING = 0.99, 2.0
"""If the residuals within a window vary by such a factor, a new best must be below this share of the last one."""


@dataclass(slots=True)
class Standstill:
    """Finds out that residuals do not fall any more: they stay, or jump within what rounding makes of them.

    The best residual of a window of iterations is compared with that of the window before. A slow run falls steadily,
    by however little; one that jumps by a factor has to gain a percent. While the dual grows by more than rounding, a
    run moves: profiles almost nothing may grow for long before that is seen in any sum.

    Attributes
    ----------
    begin, least, largest
        The iteration where the window began, and the smallest and largest residual in L1 there.
    before
        The smallest in the window before.
    dual
        Where the window began, NaN at first.
    reached
        The best residual of the window in which nothing was gained, None as long as there is none.
    """

    begin: int = 0
    least: float = float("inf")
    largest: float = 0.0
    before: float = float("inf")
    dual: float = float("nan")
    reached: float | None = None
    _unread: list[tuple[int, Sequence[Record]]] = field(default_factory=list)

    def take(self, before: int, records: Sequence[Record]) -> None:
        """Take up what a step recorded after so many iterations: read at the end of a window, and not before."""
        self._unread.append((before, records))
        if before + records[-1].iteration - self.begin < WINDOW:
            return
        for start, some in self._unread:
            iterations, _, residuals, _, duals = columns_of(some)
            self.watch(start + iterations, residuals, duals)
        self._unread.clear()

    def watch(self, iterations: FloatArray, residuals: FloatArray, duals: FloatArray) -> None:
        """Take up iterations, shape (n,) each; at the end of a window, note it if nothing was gained in it."""
        begin = 0
        while begin < len(iterations):
            end = begin + int(np.searchsorted(iterations[begin:], self.begin + WINDOW)) + 1
            seen = residuals[begin:end]
            self.least = float(np.fmin.reduce(seen, initial=self.least))
            self.largest = float(np.fmax.reduce(seen, initial=self.largest))
            if end <= len(iterations):
                self._close(int(iterations[end - 1]), float(duals[end - 1]))
            begin = end

    def _close(self, iteration: int, dual: float) -> None:
        # jumps come from rounding, whose least value falls by chance: only a gain of a percent is believed
        worst = _NO_BETTER * self.before if self.largest > _JUMPING * self.least else self.before
        # one rounding an iteration; false where the dual is still NaN, but there `before` is inf and nothing stands
        grows = dual - self.dual > WINDOW * _UNIT * max(1.0, abs(dual))
        if self.least >= worst and not grows and self.reached is None:
            self.reached = self.least
        self.begin, self.least, self.largest, self.before = iteration, float("inf"), 0.0, self.least
        self.dual = dual


@dataclass(slots=True, eq=False)
class State(Generic[P]):
    """The state of a run: the content of a checkpoint, and everything that determines how it continues.

    Attributes
    ----------
    point, lines, iterations, seconds, notes
        Of the run so far.
    chunk
        How many iterations the next step may make; 0 before the first.
    doubtful
        Whether the last step looked like one on the boundary, or of a problem without a solution.
    asked, forecast
        The iterations at which slow progress was last tested, and whether the run gets anywhere.
    emptying
        What the first iteration gains by emptying profiles with zero targets, in nats.
    hurried
        Whether Ctrl-C ended the run.
    standstill
        Whether residuals still fall; a run that is resumed begins to watch them anew.
    """

    point: P
    lines: Lines
    iterations: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    chunk: int = 1
    doubtful: bool = False
    asked: int = 0
    forecast: int = 0
    emptying: float = 0.0
    hurried: bool = False
    touches: int | None = 0
    standstill: Standstill = field(default_factory=Standstill)

    def raises_doubts(self) -> bool:
        """Return whether the solver reports slow steps, or a long run has gained little over its second half.

        On the boundary IPF's residual falls like 1 / n, and without a solution it stays; slow interior problems look
        like that for a while, so this is asked as the iterations pass 1,000, 2,000, 4,000, ... only.
        """
        slow = False
        if _octave(self.iterations) > _octave(self.asked):
            now = self.lines.last.record.residual_l1
            half = [line for line in self.lines if line.iteration <= self.iterations // 2]
            slow = bool(half) and now > LITTLE * half[-1].record.residual_l1
        self.asked = self.iterations
        return self.doubtful or slow

    def gets_nowhere(self, most: int) -> bool:
        """Return whether the iterations left, of `most`, are of no use at the pace of the second half; it is noted.

        The dual of such a run may still grow: mass moves to profiles that are nearly empty, in steps that no sum shows.
        """
        made, before, self.forecast = self.iterations, self.forecast, self.iterations
        if made < SLOWEST or _octave(made) == _octave(before) or made * (1 + _TIMES_AS_MANY) > most:
            return False
        first = min(line.record.residual_l1 for line in self.lines if line.iteration <= made // 2)
        last = min(line.record.residual_l1 for line in self.lines if line.iteration > made // 2)
        # so many windows of half the iterations, each of which is to halve it by its share
        if last <= first * 0.5 ** (0.5 / _TIMES_AS_MANY):
            return False
        self.notes.append(
            f"the residual in L1 fell from {first:.3e} to {last:.3e} over the last {made - made // 2} iterations: "
            f"at this pace {_TIMES_AS_MANY * made} more would not halve it"
        )
        return True


def _octave(iterations: int) -> int:
    # 0 below 1,000 iterations, 1 from there, 2 from 2,000, 3 from 4,000
    return (iterations // PATIENCE).bit_length()


def next_stop(iteration: int, shortest: int = 1) -> int:
    """Return the next iteration at which a run may end for what its own records say.

    A step goes as far as the clock allows, so that an ending at the end of whatever step would depend on the speed
    of the machine. There are four stops in every octave, but no two nearer than `shortest` iterations, which cost
    next to nothing, or farther apart than 200; every multiple of 1,000 is one.
    """
    distance = min(LARGEST_CHUNK, max(shortest, 1 << max(0, iteration.bit_length() - 3)))
    return min((iteration // every + 1) * every for every in (distance, PATIENCE))
