"""What ends a run from outside of its mathematics: limits, callbacks and Ctrl-C, and the lines of its trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from purtensor._typing import FloatArray
from purtensor.kernels.compiling import wall_clock


class StoppedError(Exception):
    """Raised inside of a phase when the run must end; `why` is "iterations", "seconds", "callback" or "refuted"."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class StepLine:
    """One line of the trace: steps so far, the largest miss (total mass 1), seconds so far."""

    iteration: int
    residual: float
    seconds: float


@dataclass(slots=True)
class Watch:
    """Counts Newton steps over all phases of a run, and ends it at its limits.

    Attributes
    ----------
    max_iterations, max_seconds
        The limits.
    callback
        Called with every line; returning True ends the run.
    refute
        Whether potentials that show that no answer exists end the run.
    potentials
        The last that an ascent stood at: what is left where the run is ended.
    """

    max_iterations: int
    max_seconds: float = float("inf")
    callback: Callable[[StepLine], bool] | None = None
    lines: list[StepLine] = field(default_factory=list)
    iterations: int = 0
    refute: bool = True
    potentials: FloatArray | None = None
    started: float = field(default_factory=wall_clock)

    @property
    def seconds(self) -> float:
        """The time since the watch was made."""
        return wall_clock() - self.started

    def end_refuted(self, potentials: FloatArray) -> None:
        """Raise StoppedError at potentials that show that there is no answer."""
        self.potentials = potentials
        raise StoppedError("refuted")

    def before_step(self, residual: float, potentials: FloatArray | None = None) -> None:
        """Note where the run stands and raise StoppedError where it must end; else count the step that follows."""
        if potentials is not None:
            # kept first: whatever ends the run below leaves them to be returned
            self.potentials = potentials
        line = StepLine(self.iterations, residual, self.seconds)
        self.lines.append(line)
        if self.callback is not None and self.callback(line):
            raise StoppedError("callback")
        # asked before the step, not after: a run of exactly that many steps is no limit reached
        if self.iterations >= self.max_iterations:
            raise StoppedError("iterations")
        if line.seconds >= self.max_seconds:
            raise StoppedError("seconds")
        self.iterations += 1
