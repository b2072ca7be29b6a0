"""Runs of contenders on problems: in turns in this process, or side by side on an executor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

from purtensor.comparison.contenders import Contender
from purtensor.comparison.entries import Entry
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule
from purtensor.projection.executing import Failure, outcomes

# called with the names of the problem and of the solver
OnStep: TypeAlias = Callable[[str, str], Any]

# problem, solver, number of the round, seconds
Seconds: TypeAlias = tuple[str, str, int, float]


@dataclass(slots=True)
class Found:
    """What a comparison has found so far.

    Attributes
    ----------
    runs
        The outcome of each run, by problem and solver.
    seconds
        The times of each round.
    facts
        What there is to say about each problem.
    """

    runs: dict[tuple[str, str], Outcome] = field(default_factory=dict)
    seconds: list[Seconds] = field(default_factory=list)
    facts: dict[str, dict[str, str]] = field(default_factory=dict)


def run_in_turns(
    question: Question, contenders: Sequence[Contender], rule: Rule, repetitions: int, on_step: OnStep, found: Found
) -> None:
    """Add to `found` the outcome of every contender on one problem, and the times of those that converged.

    What was done before an interruption is added as well.
    """
    entries: dict[str, Entry] = {}
    try:
        on_step(question.name, "certified answer")
        question.certified  # noqa: B018 - not to be made while the first contender is being measured
        for contender in contenders:
            on_step(question.name, contender.name)
            entries[contender.name] = contender.enter(question, rule)
            outcome = entries[contender.name].run()
            found.runs[question.name, contender.name] = outcome
            if outcome.ending is Ending.INTERRUPTED:
                raise KeyboardInterrupt
            if not outcome.ending.converged:
                entries.pop(contender.name).close()  # it is not timed: its process may go
        for timed in _time_rounds(question.name, entries, repetitions, on_step):
            found.seconds.append(timed)
    finally:
        for entry in entries.values():
            entry.close()


def run_side_by_side(
    questions: Sequence[Question],
    contenders: Sequence[Contender],
    rule: Rule,
    repetitions: int,
    executor: Any,
    on_step: OnStep,
    found: Found,
) -> None:
    """Add to `found` what became of every contender on every problem, computed by the executor.

    Answers come first, then every solver on every problem, then the rounds of each problem. Whatever a worker meets is
    the ending of its run. `on_step` is called after each.

    Raises
    ------
    KeyboardInterrupt
        All that had ended by then is in `found`.
    """
    runs = []
    for question, prepared in _compute(_prepare, questions, executor):
        on_step(question.name, "certified answer")
        if isinstance(prepared, Failure):
            lost = _record_loss(prepared, "no certified answer: ")
            found.runs.update({(question.name, contender.name): lost for contender in contenders})
            found.facts[question.name] = {"certified answer": f"none: {lost.note}"}
            continue
        answered, found.facts[question.name] = prepared
        runs += [_Task(answered, (contender,)) for contender in contenders]
    for task, outcome in _compute(partial(_run, rule), runs, executor):
        (contender,) = task.contenders
        on_step(task.question.name, contender.name)
        if isinstance(outcome, Failure):
            outcome = _record_loss(outcome)
        found.runs[task.question.name, contender.name] = outcome
        if outcome.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
    races = list(_races(runs, found)) if repetitions else []
    for race, times in _compute(partial(_time_race, rule, repetitions), races, executor):
        on_step(race.question.name, "times")
        if isinstance(times, Failure):
            _note_untimed(race, times, found)
        else:
            found.seconds += times


@dataclass(frozen=True, slots=True)
class _Task:
    """A problem whose answer is known, and the contenders that one worker runs on it."""

    question: Question
    contenders: tuple[Contender, ...]


def _time_rounds(
    problem: str,
    entries: Mapping[str, Entry],
    repetitions: int,
    on_step: OnStep = lambda problem, solver: None,
) -> Iterator[Seconds]:
    """Yield the times of each round; every second round runs backwards."""
    names = list(entries)
    for turn in range(repetitions):
        # turning round evens out a machine that gets slower, or faster, within a round
        for name in names[:: 1 if turn % 2 == 0 else -1]:
            on_step(problem, f"{name}, round {turn + 1}")
            yield problem, name, turn + 1, entries[name].time()


def _compute(call: Callable[[Any], Any], items: Sequence[Any], executor: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each item with what became of it, in the order in which they end."""
    with closing(outcomes(call, items, executor)) as ended:
        for number, outcome in ended:
            yield items[number], outcome


def _prepare(question: Question) -> tuple[Question, dict[str, str]]:
    """Return the question with its answer, and what there is to say about it."""
    return question.with_answer(), question.facts()


def _run(rule: Rule, task: _Task) -> Outcome:
    (contender,) = task.contenders
    with _stay(rule) as stay:
        entry = contender.enter(task.question.with_answer(), rule)
        try:
            outcome = entry.run()
        finally:
            entry.close()
    return replace(outcome, peak_bytes=math.nan) if stay.shared and not entry.isolated else outcome


def _races(runs: Sequence[_Task], found: Found) -> Iterator[_Task]:
    """Yield for each problem those that converged on it: one worker times them in turns."""
    by_name: dict[str, list[_Task]] = {}
    for task in runs:
        if found.runs[task.question.name, task.contenders[0].name].ending.converged:
            by_name.setdefault(task.question.name, []).append(task)
    for tasks in by_name.values():
        yield _Task(tasks[0].question, tuple(task.contenders[0] for task in tasks))


def _time_race(rule: Rule, repetitions: int, race: _Task) -> list[Seconds]:
    question = race.question.with_answer()
    with _stay(rule):
        entries = {contender.name: contender.enter(question, rule) for contender in race.contenders}
        try:
            for entry in entries.values():
                entry.run()  # on this worker nothing is compiled or prepared yet
            return list(_time_rounds(question.name, entries, repetitions))
        finally:
            for entry in entries.values():
                entry.close()


def _record_loss(failure: Failure, before: str = "") -> Outcome:
    """Return the outcome of a run whose worker raised an error or ended."""
    ending = Ending.KILLED if isinstance(failure.error, BrokenExecutor) else Ending.FAILED
    return Outcome(ending, before + _in_words(failure))


def _note_untimed(race: _Task, failure: Failure, found: Found) -> None:
    for contender in race.contenders:
        key = race.question.name, contender.name
        notes = [*filter(None, [found.runs[key].note]), f"not timed again: {_in_words(failure)}"]
        found.runs[key] = replace(found.runs[key], note="; ".join(notes))


def _in_words(failure: Failure) -> str:
    return " ".join(f"{type(failure.error).__name__}: {failure.error}".split())


_TURN = Lock()
_CHANGING = Lock()
_PRESENT: list[_Stay] = []


@dataclass(slots=True, eq=False)
class _Stay:
    """A run's time in this process; `shared` if another run was there for a part of it, so that memory is of both."""

    shared: bool = False


@contextmanager
def _stay(rule: Rule) -> Iterator[_Stay]:
    """Yield a stay in this process; what is timed by the processor waits until it is there alone."""
    with _TURN if rule.clock == "processor" else nullcontext():
        own = _Stay()
        with _CHANGING:
            _PRESENT.append(own)
            if len(_PRESENT) > 1:
                for stay in _PRESENT:
                    stay.shared = True
        try:
            yield own
        finally:
            with _CHANGING:
                _PRESENT.remove(own)
