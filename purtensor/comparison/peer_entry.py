"""Another package on one problem, in a separate process."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

from purtensor.comparison.entries import Entry
from purtensor.comparison.isolation import Failed, Isolated, Prepare, Reply, Solve, Solved
from purtensor.comparison.outcome import WARM_SECONDS, Outcome, calls_for, judge
from purtensor.comparison.peers import PEERS
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule

_PREPARING_SECONDS = 120.0
# one iteration of these scales to every marginal once
_SWEEPING = ("ipfn", "humanleague", "loglin", "pot")


class PeerEntry(Entry):
    """A peer; what it raises, how long it takes and whether its process lives are its own affair."""

    isolated: ClassVar[bool] = True

    def __init__(self, question: Question, rule: Rule, peer: str) -> None:
        super().__init__(question, rule)
        self.peer = peer
        self._process: Isolated | None = None

    def run(self) -> Outcome:
        """Return a run, judged; it is made again if the first may have been compiling."""
        lacking = PEERS[self.peer].missing()
        if lacking:
            return Outcome(Ending.NOT_INSTALLED, f"needs {lacking}")
        prepare = Prepare(self.peer, self.question.plain, self.rule)
        self._process = Isolated()
        reply = self._process.ask(prepare, max(_PREPARING_SECONDS, self.rule.max_seconds)) or self._solve()
        if isinstance(reply, Solved) and reply.seconds < WARM_SECONDS:
            peak, reply = reply.peak, self._solve()
            reply = replace(reply, peak=max(peak, reply.peak)) if isinstance(reply, Solved) else reply
        return self._judge(reply) if isinstance(reply, Solved) else Outcome(reply.ending, reply.note)

    def time(self) -> float:
        """Return the seconds of one more run; NaN if it fails, or if the process is gone."""
        reply = self._solve(self.calls)
        return reply.seconds if isinstance(reply, Solved) else math.nan

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def _solve(self, runs: int = 1) -> Solved | Failed:
        # what stops by itself is given the time to do so, and to be judged; on the wall others may take most of it
        allowed = 2.0 if self.rule.clock == "wall" else 10.0
        reply: Reply = None
        if self._process is not None:
            reply = self._process.ask(Solve(runs), allowed * self.rule.max_seconds + 15.0)
        return reply or Failed(Ending.KILLED, "there is no process")

    def _judge(self, solved: Solved) -> Outcome:
        attempt, problem = solved.attempt, self.question.plain
        self.calls = calls_for(solved.seconds)
        iterations = math.nan if attempt.iterations is None else float(attempt.iterations)
        if attempt.masses is None:
            ending = attempt.limit or Ending.STOPPED_SHORT
            return Outcome(ending, attempt.says, iterations=iterations, seconds=solved.seconds, peak_bytes=solved.peak)
        last = Line(attempt.iterations or 0, solved.seconds, *problem.misses(attempt.masses))
        outcome = judge(
            self.question,
            self.rule,
            attempt.masses,
            attempt.limit,
            note=attempt.says,
            iterations=iterations,
            cell_touches=iterations * problem.index.size if self.peer in _SWEEPING else math.nan,
            seconds=solved.seconds,
            peak_bytes=solved.peak,
            lines=attempt.lines or (last,),
        )
        if outcome.ending is Ending.CONVERGED:
            return replace(outcome, note="")
        if outcome.ending is Ending.STOPPED_SHORT and solved.seconds > self.rule.max_seconds:
            return replace(outcome, ending=Ending.TIME_LIMIT)
        if outcome.ending is Ending.STOPPED_SHORT and iterations >= self.rule.max_iterations - 1:  # some count from 0
            return replace(outcome, ending=Ending.ITERATION_LIMIT)
        return outcome
