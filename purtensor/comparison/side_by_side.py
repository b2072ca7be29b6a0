"""A comparison on an executor: answers first, then every solver on every problem, then the rounds of each problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from purtensor.comparison.contenders import Contender
from purtensor.comparison.contest import Found, Told, rounds
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.questions import Question
from purtensor.comparison.rule import Ending, Rule
from purtensor.comparison.sharing import staying
from purtensor.projection.executing import Failure, outcomes


@dataclass(frozen=True, slots=True)
class _Cell:
    """A solver on a problem whose answer is known."""

    question: Question
    contender: Contender


@dataclass(frozen=True, slots=True)
class _Race:
    """Those that are timed in turns, by one worker, on one problem."""

    question: Question
    contenders: tuple[Contender, ...]


def run_side_by_side(
    questions: Sequence[Question],
    contenders: Sequence[Contender],
    rule: Rule,
    repetitions: int,
    executor: Any,
    told: Told,
    found: Found,
) -> None:
    """Add to `found` what became of every contender on every problem, computed by the executor.

    Whatever a worker meets is the ending of its cell. `told` hears of what has ended.

    Raises
    ------
    KeyboardInterrupt
        All that had ended by then is in `found`.
    """
    cells = []
    for question, prepared in _done(_prepared, questions, executor):
        told(question.name, "certified answer")
        if isinstance(prepared, Failure):
            lost = _lost(prepared, "no certified answer: ")
            found.runs.update({(question.name, contender.name): lost for contender in contenders})
            found.facts[question.name] = {"certified answer": f"none: {lost.note}"}
            continue
        answered, found.facts[question.name] = prepared
        cells += [_Cell(answered, contender) for contender in contenders]
    for cell, outcome in _done(partial(_run, rule), cells, executor):
        told(cell.question.name, cell.contender.name)
        found.runs[cell.question.name, cell.contender.name] = (
            _lost(outcome) if isinstance(outcome, Failure) else outcome
        )
        if found.runs[cell.question.name, cell.contender.name].ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
    races = list(_races(cells, found)) if repetitions else []
    for race, times in _done(partial(_timed, rule, repetitions), races, executor):
        told(race.question.name, "times")
        if isinstance(times, Failure):
            _say_untimed(race, times, found)
        else:
            found.seconds += times


def _done(call: Callable[[Any], Any], items: Sequence[Any], executor: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each item with what became of it, in the order in which they end."""
    with closing(outcomes(call, items, executor)) as ended:
        for number, outcome in ended:
            yield items[number], outcome


def _prepared(question: Question) -> tuple[Question, dict[str, str]]:
    """Return the question with its answer, and what is to be told of it."""
    return question.answered(), question.facts()


def _run(rule: Rule, cell: _Cell) -> Outcome:
    with staying(rule) as stay:
        entry = cell.contender.enter(cell.question.answered(), rule)
        try:
            outcome = entry.run()
        finally:
            entry.close()
    return replace(outcome, peak_bytes=math.nan) if stay.shared and not entry.isolated else outcome


def _races(cells: Sequence[_Cell], found: Found) -> Iterator[_Race]:
    """Yield for each problem those that converged on it."""
    by_name: dict[str, list[_Cell]] = {}
    for cell in cells:
        if found.runs[cell.question.name, cell.contender.name].ending.converged:
            by_name.setdefault(cell.question.name, []).append(cell)
    for racing in by_name.values():
        yield _Race(racing[0].question, tuple(cell.contender for cell in racing))


def _timed(rule: Rule, repetitions: int, race: _Race) -> list[tuple[str, str, int, float]]:
    question = race.question.answered()
    with staying(rule):
        entries = {contender.name: contender.enter(question, rule) for contender in race.contenders}
        try:
            for entry in entries.values():
                entry.run()  # on this worker nothing is compiled or prepared yet
            return list(rounds(question.name, entries, repetitions))
        finally:
            for entry in entries.values():
                entry.close()


def _lost(failure: Failure, before: str = "") -> Outcome:
    """Return the outcome of a run whose worker raised an error or ended."""
    ending = Ending.KILLED if isinstance(failure.error, BrokenExecutor) else Ending.FAILED
    return Outcome(ending, before + _words(failure))


def _say_untimed(race: _Race, failure: Failure, found: Found) -> None:
    for contender in race.contenders:
        key = race.question.name, contender.name
        said = [*filter(None, [found.runs[key].note]), f"not timed again: {_words(failure)}"]
        found.runs[key] = replace(found.runs[key], note="; ".join(said))


def _words(failure: Failure) -> str:
    return " ".join(f"{type(failure.error).__name__}: {failure.error}".split())
