"""The process in which a peer runs: it may take too long, fill its memory or die, and nothing else is harmed."""

from __future__ import annotations

import math
import os
import pickle
import sys
import warnings
from collections.abc import Callable
from typing import IO

from purtensor.comparison.isolation import Failed, Prepare, Reply, Solve, Solved
from purtensor.comparison.machine import peak_of
from purtensor.comparison.peers import PEERS
from purtensor.comparison.peers.peer import Attempt
from purtensor.comparison.plain import NotApplicableError
from purtensor.comparison.rule import Ending, Rule
from purtensor.tables.memory import available_memory

try:
    import resource
except ImportError:  # not on Windows
    resource = None  # type: ignore[assignment]


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    prepared: Callable[[], Attempt] | None = None
    rule: Rule | None = None
    while True:
        try:
            request: Prepare | Solve = pickle.load(requests)
        except EOFError:
            return
        reply: Reply = None
        try:
            if isinstance(request, Prepare):
                prepared, rule = PEERS[request.peer].prepare(request.problem, request.rule), request.rule
            else:
                reply = _solve(prepared, rule, request.runs)
        except NotApplicableError as error:
            reply = Failed(Ending.DOES_NOT_APPLY, str(error))
        except Exception as error:  # whatever a peer raises is the ending of its run
            reply = Failed(Ending.FAILED, f"{type(error).__name__}: {error}".splitlines()[0])
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()


def _solve(prepared: Callable[[], Attempt] | None, rule: Rule | None, runs: int) -> Solved:
    if prepared is None or rule is None:
        raise RuntimeError("nothing was prepared")
    (attempt, seconds), peak = peak_of(lambda: _time(prepared, rule))
    for _ in range(runs - 1):
        seconds += _time(prepared, rule)[1]
    return Solved(attempt, seconds / runs, peak if attempt.here else math.nan)


def _time(prepared: Callable[[], Attempt], rule: Rule) -> tuple[Attempt, float]:
    """Return what a run gave and its seconds, by the peer's own clock where it has one."""
    began = rule.now()
    attempt = prepared()
    seconds = rule.now() - began
    return attempt, seconds if attempt.seconds is None else attempt.seconds


def _limit_memory() -> None:
    if resource is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        # a peer that wants more gets an error; without the limit the system might end other programs
        resource.setrlimit(resource.RLIMIT_AS, (available_memory(), hard))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    pipe = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # peers print; the pipe carries replies alone
    _limit_memory()
    serve(sys.stdin.buffer, pipe)
