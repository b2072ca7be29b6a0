"""The measured iterations of a run, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from purtensor.solving.iterate import Record


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
