"""All contenders on one problem, in this process: run, judged from outside, timed in turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from purtensor.comparison.contenders import Contender, Entry
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule

Told: TypeAlias = Callable[[str, str], Any]
"""Hears of the problem and the solver."""


@dataclass(slots=True)
class Found:
    """What a comparison has found so far.

    Attributes
    ----------
    runs
        The outcome of each run, by problem and solver.
    seconds
        Of each timed round: problem, solver, number of the round, seconds.
    facts
        What there is to say about each problem.
    """

    runs: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    seconds: list[tuple[str, str, int, float]] = field(default_factory=list)
    facts: dict[str, dict[str, str]] = field(default_factory=dict)


def run_in_turns(
    question: Question, contenders: Sequence[Contender], rule: Rule, repetitions: int, told: Told, found: Found
) -> None:
    """Add to `found` the outcome of every contender on one problem, and the times of those that converged.

    What was done before an interruption is added as well.
    """
    entries: dict[str, Entry] = {}
    try:
        told(question.name, "certified answer")
        question.certified  # noqa: B018 - not to be made while the first contender is being measured
        for contender in contenders:
            told(question.name, contender.name)
            entries[contender.name] = contender.enter(question, rule)
            outcome = entries[contender.name].run()
            found.runs[question.name, contender.name] = outcome
            if outcome.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            if not outcome.ending.converged:
                entries.pop(contender.name).close()  # it is not timed: its process may go
        for timed in rounds(question.name, entries, repetitions, told):
            found.seconds.append(timed)
    finally:
        for entry in entries.values():
            entry.close()


def rounds(
    problem: str, entries: Mapping[str, Entry], repetitions: int, told: Told = lambda problem, solver: None
) -> Iterator[tuple[str, str, int, float]]:
    """Yield problem, solver, round and seconds of each round; every second round runs backwards."""
    names = list(entries)
    for turn in range(repetitions):
        # turning round evens out a machine that gets slower, or faster, within a round
        for name in names[:: 1 if turn % 2 == 0 else -1]:
            told(problem, f"{name}, round {turn + 1}")
            yield problem, name, turn + 1, entries[name].time()
