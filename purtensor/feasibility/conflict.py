"""Contradictions in few words: as few attributes, constraints and rows as it takes; and why one profile is empty.

Attributes are summed out of the support and of every target: a solution of the question is one of every coarser
question, so a contradiction of fewer attributes, or of fewer constraints, refutes it as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.system import System, group_rows, rows_of
from purtensor.feasibility.decision import settle
from purtensor.feasibility.farkas import Proof, prove, round_to_whole, tidy
from purtensor.feasibility.linear_programs import sparse_emptying_weights, sparse_weights
from purtensor.feasibility.targets import ExactTargets
from purtensor.feasibility.verdict import Decision, Verdict
from purtensor.tables.grouping import group_profiles, smallest_unsigned

_LARGEST_PROGRAM = 30_000
_MOST_CONSTRAINTS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A system with its exact targets, and which of the original constraints its constraints come from."""

    system: System
    targets: ExactTargets
    origin: tuple[int, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes that some constraint is about, in the domain's order."""
        used = {name for scope in self.system.scopes for name in scope}
        return tuple(name for name in self.system.domain.attributes if name in used)


def with_constraints(question: Question, kept: Sequence[int]) -> Question:
    """Return the question with some of its constraints only."""
    system = question.system
    rows = rows_of(system.offsets, kept)
    fewer = replace(
        system,
        index=system.index[list(kept)],
        offsets=np.concatenate([[0], np.cumsum(np.diff(system.offsets)[list(kept)])]).astype(np.int64),
        targets=system.targets[rows],
        scopes=tuple(system.scopes[k] for k in kept),
        row_codes=tuple(system.row_codes[k] for k in kept),
    )
    return Question(fewer, question.targets.select(rows), tuple(question.origin[k] for k in kept))


def coarsen(question: Question, attributes: Sequence[str]) -> Question | None:
    """Return the question about some attributes only; None where no constraint is about any of them."""
    system, numerators = question.system, question.targets.numerators
    # a constraint without any of them is left with its total, which the others have, too
    kept = [k for k, scope in enumerate(system.scopes) if set(scope) & set(attributes)]
    if not kept:
        return None
    first = _distinct_profiles(system, attributes)
    indices, targets, exact, scopes, row_codes = [], [], [], [], []
    for k in kept:
        names = tuple(name for name in system.scopes[k] if name in set(attributes))
        row, codes = group_rows(system, [k], names)
        count = len(codes[0])
        sums = np.zeros(count, dtype=object)
        # summed exactly, as the contradiction may lie in the last unit
        np.add.at(sums, row, numerators[system.block(k)])
        exact.append(sums)
        targets.append(np.bincount(row, weights=system.targets[system.block(k)], minlength=count))
        indices.append(row[system.index[k][first]])
        scopes.append(names)
        row_codes.append(codes)
    sizes = [len(values) for values in targets]
    coarse = System(
        index=np.array(indices, dtype=smallest_unsigned(max(sizes))),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate(targets),
        domain=system.domain,
        scopes=tuple(scopes),
        row_codes=tuple(row_codes),
    )
    summed = ExactTargets(np.concatenate(exact), question.targets.denominator, question.targets.exact)
    return Question(coarse, summed, tuple(question.origin[k] for k in kept))


def _distinct_profiles(system: System, attributes: Sequence[str]) -> IntArray:
    """Return one profile of the support for each combination that it has of the attributes."""
    columns = []
    for name in attributes:
        k = next((k for k, scope in enumerate(system.scopes) if name in scope), None)
        if k is not None:
            columns.append(system.row_codes[k][system.scopes[k].index(name)].astype(np.int64)[system.index[k]])
    group, distinct = group_profiles(columns, [int(column.max()) + 1 for column in columns])
    first = np.zeros(len(distinct[0]), dtype=np.int64)
    # backwards, so that the first profile of each group is written last and stays
    first[group[::-1]] = np.arange(system.profiles - 1, -1, -1)
    return first


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """What cannot be: the rows of negative weight need more mass than its only places, those of positive weight, have.

    Attributes
    ----------
    question
        The rows, of few attributes.
    weights
        Shape (rows,): whole numbers t with C^T t >= 0.
    needed, room
        The sums of |t| b over the negative and the positive weights; the total mass is 1.
    irreducible
        Whether the contradiction is gone without any one of the question's constraints.
    """

    question: Question
    weights: IntArray
    needed: Fraction
    room: Fraction
    irreducible: bool

    @property
    def missing(self) -> Fraction:
        """What has no place."""
        return self.needed - self.room


def simplest_conflict(question: Question, weights: IntArray) -> Conflict:
    """Return a contradiction of few attributes, constraints and rows, from the proof that there is one.

    Attributes are left out one by one, those of many categories first, then constraints, as long as a contradiction
    remains; in what is left that of the fewest rows for its size is taken.
    """
    # constraints that the proof does not use are left out first, which costs nothing
    question, weights = _leave_out_unused(question, tidy(question.system, weights))
    sizes = dict(zip(question.system.domain.attributes, question.system.domain.sizes, strict=True))
    # attributes of many categories first: without them the later questions are small
    for name in sorted(question.attributes, key=lambda name: (-sizes[name], name)):
        kept = [other for other in question.attributes if other != name]
        simpler = coarsen(question, kept) if kept else None
        found = None if simpler is None else _refutation(_settle(simpler))
        if simpler is not None and found is not None:
            question, weights = simpler, found
    certain = len(question.origin) <= _MOST_CONSTRAINTS
    for origin in question.origin if certain else ():
        if len(question.origin) > 1:
            simpler = with_constraints(question, [k for k, own in enumerate(question.origin) if own != origin])
            decision = _settle(simpler)
            # an open verdict leaves it unknown whether the constraint is needed
            certain = certain and decision.verdict is not Verdict.OPEN
            found = _refutation(decision)
            if found is not None:
                question, weights = simpler, found
    return _fewest_rows(question, weights, certain)


def _leave_out_unused(question: Question, weights: IntArray) -> tuple[Question, IntArray]:
    """Return the question of the constraints that have a weight, without the attributes of the others alone."""
    system = question.system
    used = [k for k in range(len(question.origin)) if weights[system.block(k)].any()]
    if len(used) == len(question.origin):
        return question, weights
    alone = with_constraints(question, used)
    simpler = coarsen(alone, alone.attributes)
    found = None if simpler is None else _refutation(_settle(simpler))
    if simpler is None or found is None:
        return alone, weights[rows_of(system.offsets, used)]
    return simpler, found


def _refutation(decision: Decision) -> IntArray | None:
    return decision.weights if decision.verdict is Verdict.INFEASIBLE else None


def _settle(question: Question) -> Decision:
    return settle(question.system, np.ones(question.system.profiles), targets=question.targets)


def emptying_proof(system: System, targets: ExactTargets, profile: int) -> Conflict | None:
    """Return rows that need exactly what their only places have, which leaves nothing for the profile; None if large.

    The places are rows of positive weight; the profile lies there, and needs nothing.
    """
    if system.index.size > _LARGEST_PROGRAM:
        return None
    for proof in _whole_proofs(system, targets, sparse_emptying_weights(system, profile)):
        if proof.zeros[profile]:
            question = Question(system, targets, tuple(range(len(system.scopes))))
            return _weigh(question, proof.weights, False)
    return None


def _fewest_rows(question: Question, weights: IntArray, irreducible: bool) -> Conflict:
    system, targets = question.system, question.targets
    best = tidy(system, weights)
    if system.index.size <= _LARGEST_PROGRAM:
        # the least absolute sum finds few rows, and the whole numbers beside it must still refute
        for proof in _whole_proofs(system, targets, sparse_weights(system)):
            if proof.infeasible and np.count_nonzero(proof.weights) <= np.count_nonzero(best):
                best = proof.weights // max(1, int(np.gcd.reduce(proof.weights)))
                break
    return _weigh(question, best, irreducible)


def _whole_proofs(system: System, targets: ExactTargets, found: FloatArray | None) -> Iterator[Proof]:
    """Yield what whole numbers in the proportions of weights from a program prove."""
    if found is None or not np.abs(found).max() > 0:
        return
    # scaled so that the least weight is 1, 2, 3 or 6: vertices of these programs have small denominators
    used = np.abs(found)[np.abs(found) > 1e-9 * np.abs(found).max()]
    for scale in (1.0, 2.0, 3.0, 6.0):
        weights = round_to_whole(found, scale / float(used.min()))
        if weights is not None:
            yield prove(system, targets, weights)


def _weigh(question: Question, weights: IntArray, irreducible: bool) -> Conflict:
    needed = question.targets.dot(np.where(weights < 0, -weights, 0))
    room = question.targets.dot(np.where(weights > 0, weights, 0))
    return Conflict(question, weights, needed, room, irreducible)
