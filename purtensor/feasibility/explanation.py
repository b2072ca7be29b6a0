"""A verdict in words: which categories need how much mass, how much the constraints allow, by how much it fails."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.feasibility.conflict import Conflict, Question, emptying_proof, simplest_conflict
from purtensor.feasibility.flows import is_binary, triangle_of
from purtensor.feasibility.targets import ExactTargets
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.feasibility.violation import smallest_miss, smallest_violation

_Row = tuple[str, str, str, float]

_SHOWN_ROWS = 3
_SHOWN_NAMES = 5
_LISTED_ROWS = 100
_SHOWN_PROFILES = 8
_LARGEST_PROGRAM = 30_000


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a verdict; text on a terminal, HTML in a notebook.

    Attributes
    ----------
    sentences
        The story; masses are in the targets' own units.
    rows
        What it is about: whether a row needs mass or has it, its labels, the scope of its target, and the mass; of many
        the largest, and what all others sum to.
    constraints
        The scopes of the constraints that conflict.
    needed, room, missing
        The mass that must be somewhere, what its only places can hold, and the difference; nan where nothing conflicts.
        With rows of any kind `missing` is the smallest sum of misses of the hard rows, each over its largest
        coefficient.
    conflict
        With rows of any kind: the rows of the contradiction in words; without any one of them it is gone. It may have
        more than it needs where rows are many.
    bounds
        The profiles in words whose bounds the contradiction needs, with the side.
    relaxations
        The rows that give way in the smallest sum of misses, in words, and by how much: positive where more is reached
        than asked.
    """

    sentences: tuple[str, ...]
    rows: tuple[_Row, ...] = ()
    constraints: tuple[tuple[str, ...], ...] = ()
    needed: float = math.nan
    room: float = math.nan
    missing: float = math.nan
    conflict: tuple[str, ...] = ()
    bounds: tuple[str, ...] = ()
    relaxations: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.sentences)

    def in_short(self, most: int = 600) -> str:
        """Return the story, or, where it has more characters, its beginning and end: how much fails, and of what."""
        whole = str(self)
        if len(whole) <= most or len(self.sentences) < 3:
            return whole
        return "\n".join((self.sentences[0], self.sentences[-1], "The proof is in `diagnosis` of this error."))

    def _repr_html_(self) -> str:
        text = "".join(f"<p>{html.escape(sentence)}</p>" for sentence in self.sentences)
        if not self.rows:
            return text
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(entry))}</td>" for entry in (*row[:3], f"{row[3]:.6g}")) + "</tr>"
            for row in self.rows
        )
        head = "<tr><th></th><th>profiles</th><th>target over</th><th>mass</th></tr>"
        return f"{text}<table>{head}{cells}</table>"


def explain(system: System, decision: Decision, describe: Callable[[int], str]) -> Explanation:
    """Return the verdict in words; `describe` returns the labels of a profile of the system."""
    verdict = decision.verdict
    if verdict is Verdict.INFEASIBLE and decision.weights is not None:
        return _why_infeasible(system, decision, decision.weights)
    if verdict is Verdict.BOUNDARY:
        return _why_boundary(system, decision, describe)
    if verdict is Verdict.INTERIOR:
        return _why_interior(system, decision, describe)
    return Explanation((f"{_capital(verdict.sentence)}.",))


def _why_infeasible(system: System, decision: Decision, weights: IntArray) -> Explanation:
    question = Question(system, decision.targets, tuple(range(len(system.scopes))))
    conflict = simplest_conflict(question, weights)
    total = _total(system)
    needed, room, missing = (float(share) * total for share in (conflict.needed, conflict.room, conflict.missing))
    texts = _distinct(needed, room)
    # shares are said as shares, counts by their total
    unit = "of the mass" if abs(total - 1) < 1e-9 else f"of {_number(total)}"
    scopes = tuple(system.scopes[k] for k in conflict.question.origin)
    sentences = [
        f"{_capital(Verdict.INFEASIBLE.sentence)}: {_number(missing)} {unit} has no place.",
        _contradiction(conflict, system, texts),
        _conflicting(scopes, conflict.irreducible),
        *_how_far(system, decision.targets),
    ]
    return Explanation(tuple(sentences), _table(conflict, system), scopes, needed, room, missing)


def _contradiction(conflict: Conflict, system: System, texts: tuple[str, str]) -> str:
    needs, places = _side(conflict, system, -1), _side(conflict, system, 1)
    if not places.rows:
        return f"{_needing(needs, texts[0])}, and the support has no profile there."
    return f"{_needing(needs, texts[0])}. It can only lie in {_places(places, texts[1])}."


def _needing(side: _Side, amount: str) -> str:
    return f"{_rows_text(side, 'and')} {'need' if len(side.rows) > 1 else 'needs'} {amount}"


def _places(side: _Side, amount: str) -> str:
    return f"{_rows_text(side, 'or')}, which {'together ' if len(side.rows) > 1 else ''}may hold {amount}"


def _conflicting(scopes: Sequence[tuple[str, ...]], irreducible: bool) -> str:
    if len(scopes) == 1:
        return f"The target over {_scope(scopes[0])} alone cannot be met."
    known = "; without any one of them this contradiction is gone" if irreducible else ""
    return f"It takes the targets over {_enumerate([_scope(scope) for scope in scopes], 'and')}{known}."


def _how_far(system: System, targets: ExactTargets) -> list[str]:
    """Return the sentence about the smallest violation, where it is found at little cost."""
    total = _total(system)
    triangle = triangle_of(system)
    by_flow = triangle is not None and is_binary(system, triangle)
    # a linear program of this size would take longer than the verdict; a flow does not
    if system.index.size > _LARGEST_PROGRAM and not by_flow:
        return []
    # parity is what gives way in PUR: by how much it must is the number that readers ask for
    if triangle is not None:
        least = smallest_violation(system, targets, [triangle.parity])
        if least is not None:
            scope = _scope(system.scopes[triangle.parity])
            return [
                f"While all others hold, the target over {scope} is missed by at least "
                f"{_number(least.value * total)} in L1."
            ]
    least = smallest_miss(system, targets)
    return [] if least is None else [f"At best the misses of all targets sum to {_number(least.value * total)}."]


def _why_boundary(system: System, decision: Decision, describe: Callable[[int], str]) -> Explanation:
    zeros = np.flatnonzero(decision.zeros)
    hidden = np.flatnonzero(decision.zeros & ~decision.by_target)
    count = f"{len(zeros)} of the {len(decision.zeros)} profiles"
    sentences = [f"The constraints can be met, but they leave {count} of the support without mass."]
    known = len(zeros) - len(hidden)
    if known:
        sentences.append(f"{known} of them {'lie' if known > 1 else 'lies'} in rows whose target is 0.")
    if not len(hidden):
        return Explanation(tuple(sentences))
    which = _enumerate([f"({describe(i)})" for i in hidden[:_SHOWN_PROFILES]], "and")
    more = f", and {len(hidden) - _SHOWN_PROFILES} more" if len(hidden) > _SHOWN_PROFILES else ""
    together = "No target of 0 says so, but together they empty" if known else "Together they empty"
    sentences.append(f"{together} {which}{more}.")
    proof = emptying_proof(system, decision.targets, int(hidden[0]))
    if proof is None:
        return Explanation(tuple(sentences))
    amount = _number(float(proof.needed) * _total(system))
    needs, places = _side(proof, system, -1), _side(proof, system, 1)
    sentences.append(
        f"For instance, {_needing(needs, amount)}. It can only lie in {_places(places, 'just that')}; "
        f"so nothing is left for ({describe(int(hidden[0]))})."
    )
    return Explanation(tuple(sentences), _table(proof, system))


def _why_interior(system: System, decision: Decision, describe: Callable[[int], str]) -> Explanation:
    solution = decision.solution
    text = f"The constraints can be met with mass on each of the {len(decision.zeros)} profiles of the support"
    if solution is None:
        return Explanation((f"{text}.",))
    least = int(np.argmin(solution))
    mass = _number(float(solution[least]) * _total(system))
    return Explanation((f"{text}; the solution that was found has least at ({describe(least)}), {mass}.",))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The rows that need mass, or those that have room for it, the largest first.

    `rows` are the largest few: times, labels, scope and mass of each; `amounts` are times the mass of all.
    """

    rows: list[tuple[int, str, str, float]]
    amounts: FloatArray

    def rest(self, shown: int) -> float:
        """Return what the rows after the first so many sum to."""
        return math.fsum(self.amounts[shown:].tolist())


def _side(conflict: Conflict, system: System, sign: int) -> _Side:
    question = conflict.question.system
    chosen = np.flatnonzero(sign * conflict.weights > 0)
    # the largest first: of many rows a reader sees only these
    chosen = chosen[np.argsort(-question.targets[chosen], kind="stable")]
    times = np.abs(conflict.weights[chosen])
    masses = question.targets[chosen]
    which = np.searchsorted(question.offsets, chosen, side="right") - 1
    rows = [
        (int(times[i]), question.row_label(int(chosen[i])), _scope(system.scopes[origin]), float(masses[i]))
        for i, origin in enumerate(conflict.question.origin[k] for k in which[:_LISTED_ROWS])
    ]
    return _Side(rows, times.astype(np.float64) * masses)


def _table(conflict: Conflict, system: System) -> tuple[_Row, ...]:
    """Return the rows of both sides, the largest first, and what the others of a side sum to."""
    listed: list[_Row] = []
    for sign, role in ((-1, "needs"), (1, "has room for")):
        side = _side(conflict, system, sign)
        listed += [(role if n == 1 else f"{role} {n} times", label, scope, mass) for n, label, scope, mass in side.rows]
        more = len(side.amounts) - len(side.rows)
        if more:
            listed.append((role, f"{more} more", "", side.rest(len(side.rows))))
    return tuple(listed)


def _rows_text(side: _Side, word: str) -> str:
    """Return rows by their labels, with their masses where there are several; of many only the largest."""
    labels = [label if n == 1 else f"{n} times {label}" for n, label, _, _ in side.rows]
    if len(labels) == 1:
        return labels[0]
    count = len(side.amounts)
    shown = count if count <= _SHOWN_ROWS + 1 else _SHOWN_ROWS
    texts = [f"{label} ({_number(row[3])})" for label, row in zip(labels[:shown], side.rows[:shown], strict=True)]
    if count > shown:
        texts.append(f"{count - shown} more ({_number(side.rest(shown))})")
    return _enumerate(texts, word)


def _total(system: System) -> float:
    return math.fsum(system.targets[system.block(0)].tolist())


def _scope(names: Sequence[str]) -> str:
    if len(names) <= _SHOWN_NAMES:
        return f"({', '.join(names)})"
    return f"({', '.join(names[: _SHOWN_NAMES - 1])} and {len(names) - _SHOWN_NAMES + 1} more)"


def _enumerate(parts: Sequence[str], word: str) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _number(value: float, digits: int = 4) -> str:
    # counts as counts, not as 1.234e+05
    if value == round(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def _distinct(one: float, two: float) -> tuple[str, str]:
    """Return two numbers with as few digits as distinguish them, four at least."""
    texts = _number(one), _number(two)
    # needed and room may differ in the seventeenth digit, which four would show as equal
    for digits in range(5, 18):
        if texts[0] != texts[1]:
            break
        texts = _number(one, digits), _number(two, digits)
    return texts


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
