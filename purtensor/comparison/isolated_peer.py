"""Another package on one problem, in a separate process."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from purtensor.comparison.isolation import Isolated, ProcessEndedError
from purtensor.comparison.messages import Prepare, Raised, Refused, Solve, Solved
from purtensor.comparison.outcome import WARM_SECONDS, Outcome, calls_for, distances_to, divergence_to, judged_ending
from purtensor.comparison.peers import PEERS
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule

_PREPARING_SECONDS = 120.0
_SWEEPING = ("ipfn", "humanleague", "loglin", "pot")
"""One iteration of these scales to every marginal once."""


class PeerEntry:
    """A peer; what it raises, how long it takes and whether its process lives are its own affair."""

    isolated: ClassVar[bool] = True

    def __init__(self, question: Question, rule: Rule, peer: str) -> None:
        self.question, self.rule, self.peer = question, rule, peer
        self.calls = 1
        self._process: Isolated | None = None

    def run(self) -> Outcome:
        """Return a run, judged."""
        lacking = PEERS[self.peer].missing()
        if lacking:
            return Outcome(Ending.NOT_INSTALLED, f"needs {lacking}")
        try:
            problem = self.question.plain
            self._process = Isolated()
            allowed = max(_PREPARING_SECONDS, self.rule.max_seconds)
            reply = self._process.ask(Prepare(self.peer, problem, self.rule), allowed)
            if isinstance(reply, Refused):
                return Outcome(Ending.DOES_NOT_APPLY, reply.reason)
            if not isinstance(reply, Raised):
                reply = self._ask()
            if isinstance(reply, Solved) and reply.seconds < WARM_SECONDS:
                peak = reply.peak
                reply = self._ask()
                reply = (
                    Solved(reply.attempt, reply.seconds, max(peak, reply.peak)) if isinstance(reply, Solved) else reply
                )
        except TimeoutError:
            return Outcome(Ending.TIME_LIMIT, "it does not hear of limits: its process was ended")
        except ProcessEndedError as error:
            return Outcome(Ending.KILLED, str(error))
        if isinstance(reply, Raised):
            return Outcome(Ending.FAILED, reply.error)
        return self._judged(reply)

    def time(self) -> float:
        """Return the seconds of one more run; NaN when the process is gone."""
        try:
            reply = self._ask(self.calls)
        except (TimeoutError, ProcessEndedError):
            return math.nan
        return reply.seconds if isinstance(reply, Solved) else math.nan

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _ask(self, runs: int = 1) -> Any:
        if self._process is None:
            raise ProcessEndedError("there is none")
        # what stops by itself is given the time to do so, and to be judged; on the wall others may take most of it
        allowed = 2.0 if self.rule.clock == "wall" else 10.0
        return self._process.ask(Solve(runs), allowed * self.rule.max_seconds + 15.0)

    def _judged(self, solved: Solved) -> Outcome:
        attempt, problem = solved.attempt, self.question.plain
        self.calls = calls_for(solved.seconds)
        iterations = math.nan if attempt.iterations is None else float(attempt.iterations)
        if attempt.masses is None:
            ending = attempt.limit or Ending.STOPPED_SHORT
            return Outcome(ending, attempt.says, iterations=iterations, seconds=solved.seconds, peak_bytes=solved.peak)
        residual, l1 = problem.misses(attempt.masses)
        ending = judged_ending(self.rule, residual, l1, attempt.limit)
        if ending is Ending.STOPPED_SHORT and solved.seconds > self.rule.max_seconds:
            ending = Ending.TIME_LIMIT
        elif ending is Ending.STOPPED_SHORT and iterations >= self.rule.max_iterations - 1:  # some count from 0
            ending = Ending.ITERATION_LIMIT
        touches = iterations * problem.index.size if self.peer in _SWEEPING else math.nan
        last = Line(attempt.iterations or 0, solved.seconds, residual, l1)
        return Outcome(
            ending,
            attempt.says if ending is not Ending.CONVERGED else "",
            residual,
            l1,
            divergence_to(problem, attempt.masses),
            math.nan,
            iterations,
            touches,
            solved.seconds,
            solved.peak,
            attempt.lines or (last,),
            **distances_to(self.question, attempt.masses),
        )
