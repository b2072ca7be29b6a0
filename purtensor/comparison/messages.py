"""Requests to a worker process, and its replies."""

from __future__ import annotations

from dataclasses import dataclass

from purtensor.comparison.peers.peer import Attempt
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule


@dataclass(frozen=True, slots=True)
class Prepare:
    """Asks for the preparation of a problem; answered by Ready, Refused or Raised."""

    peer: str
    problem: PlainProblem
    rule: Rule


@dataclass(frozen=True, slots=True)
class Solve:
    """Requests a number of consecutive runs; the reply is Solved, with their mean time, or Raised."""

    runs: int = 1


@dataclass(frozen=True, slots=True)
class Ready:
    """The problem is prepared."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The peer does not take the problem."""

    reason: str


@dataclass(frozen=True, slots=True)
class Raised:
    """The peer raised an error."""

    error: str


@dataclass(frozen=True, slots=True)
class Solved:
    """What a run gave, in how many seconds, and the rise of the resident memory in bytes."""

    attempt: Attempt
    seconds: float
    peak: float
