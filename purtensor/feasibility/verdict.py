"""Interior, boundary or infeasible: a verdict on arrays, each with what proves it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.rank.redundancy import redundant
from purtensor.constraints.slabs import arrange
from purtensor.constraints.system import submatrix
from purtensor.errors import TooLargeError
from purtensor.feasibility.exact_simplex import exact_answer
from purtensor.feasibility.exact_solution import ExactPoint, exact_point, explicit_point
from purtensor.feasibility.farkas import Proof, extend_proof, prove, round_to_whole
from purtensor.feasibility.flows import minimum_cut, triangle_of
from purtensor.feasibility.linear_programs import emptying_weights, refuting_weights
from purtensor.feasibility.search import SWEEPS, Signs, search_evidence
from purtensor.feasibility.targets import ExactTargets, read_targets
from purtensor.kernels.feasibility.sums import repair_price
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.iterate import Iterate, on_profiles
from purtensor.solving.loop import begin
from purtensor.solving.problem import Problem
from purtensor.solving.spaces.arrays import ArrayChange, ArraySpace
from purtensor.solving.spaces.space import Direction

_LARGEST_PROGRAM = 200_000
# for weights that are no small whole numbers: rounding to 2^-44 of the largest is repaired at little cost
_FINE = 2.0**44


class Verdict(StrEnum):
    """Whether constraints can be met on a support; `sentence` is what the user reads."""

    INTERIOR = "interior"
    BOUNDARY = "boundary"
    INFEASIBLE = "infeasible"
    OPEN = "open"

    @property
    def sentence(self) -> str:
        """The verdict as a sentence."""
        return _SENTENCES[self]


_SENTENCES = {
    Verdict.INTERIOR: "a solution with mass on every profile exists",
    Verdict.BOUNDARY: "solutions exist, and some profiles are empty in all of them",
    Verdict.INFEASIBLE: "no distribution on the support meets the constraints",
    Verdict.OPEN: "neither a solution nor a proof that there is none was found",
}


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """A verdict on M profiles and D rows with its witness, in arrays.

    Attributes
    ----------
    verdict
        What was proved.
    targets
        The exact targets that the question was asked of.
    zeros
        Shape (M,): the profiles that are empty in every solution; all false where there is none.
    by_target
        Shape (M,): the profiles that a target of zero empties.
    weights
        Shape (D,): whole numbers t with C^T t >= 0. Infeasible: b.t < 0. Boundary: b.t = 0, and C^T t is positive
        exactly on the empty profiles. Else None.
    solution
        Shape (M,): masses that meet the constraints to rounding, positive but for `zeros`; None where there are none.
    point, profiles
        The exact solution next to it, and which profile each of its profiles is.
    """

    verdict: Verdict
    targets: ExactTargets
    zeros: BoolArray
    by_target: BoolArray
    weights: IntArray | None = None
    solution: FloatArray | None = None
    point: ExactPoint | None = None
    profiles: IntArray | None = None

    @property
    def arithmetic(self) -> str:
        """Which arithmetic proved the verdict."""
        if self.verdict is Verdict.OPEN:
            return "nothing"
        if self.targets.exact and (self.point is None or self.point.explicit):
            return "rational"
        return "boundary to rounding" if self.verdict is Verdict.BOUNDARY else "interval"


def decide(problem: Problem, targets: ExactTargets | None = None) -> Decision:
    """Return whether the constraints of a problem can be met, with a witness that was checked in exact numbers.

    A face is found by repeated proofs: each empties some profiles, until the others all have mass or the rest is
    refuted.
    """
    if targets is None:
        targets = read_targets(problem.system, [float(problem.reference.min() / problem.reference.sum())])
    kept = np.arange(problem.system.profiles)
    nothing = np.zeros(problem.system.profiles, dtype=bool)
    weights: IntArray | None = None
    current = problem
    while True:
        # the cheapest evidence first; whole numbers last, which always decide but only small problems
        found = (
            _bare_row(current, targets)
            or _refuting_cut(current, targets)
            or _search(current, targets)
            or _by_programs(current, targets)
            or _by_whole_numbers(current, targets)
        )
        zeros = np.ones(problem.system.profiles, dtype=bool)
        zeros[kept] = False
        # a proof of nothing would repeat the loop without end
        if found is None or (isinstance(found, Proof) and not found.decides):
            return Decision(Verdict.OPEN, targets, zeros, nothing, weights)
        if isinstance(found, Proof):
            if found.infeasible:
                refuting = _on_all_profiles(problem, targets, found, weights)
                if refuting is None:
                    return Decision(Verdict.OPEN, targets, zeros, nothing, weights)
                return Decision(Verdict.INFEASIBLE, targets, nothing, nothing, refuting)
            # later proofs hold on the face only: enough of the earlier weights makes them hold everywhere
            weights = extend_proof(problem.system, found.weights, weights)
            kept = kept[~found.zeros]
            # the rows stay, so the weights of all steps are of the same rows and can be added up
            current = restrict_to(current, ~found.zeros)
            continue
        solution = np.zeros(problem.system.profiles)
        solution[kept] = found.masses
        verdict = Verdict.BOUNDARY if zeros.any() else Verdict.INTERIOR
        return Decision(verdict, targets, zeros, nothing, weights, solution, found.point, kept)


def restrict_to(problem: Problem, keep: BoolArray) -> Problem:
    """Return the problem on fewer profiles, all rows kept; the order of the profiles stays."""
    system = submatrix(problem.system, np.flatnonzero(keep))
    slabs = None if problem.slabs is None or not keep.any() else arrange(system, problem.slabs.key)[1]
    logs, off = (None if one is None else one[keep] for one in (problem.log_reference, problem.log_rounding))
    reference = problem.reference[keep]
    return replace(problem, reference=reference, log_reference=logs, log_rounding=off, system=system, slabs=slabs)


def _on_all_profiles(
    problem: Problem, targets: ExactTargets, found: Proof, earlier: IntArray | None
) -> IntArray | None:
    """Return weights that refute the whole problem, from a proof about what the earlier weights leave of it.

    The earlier weights are 0 in sum, with float targets to rounding only: where much of them is needed, that may be
    more than the contradiction, and another proof is searched for.
    """
    if earlier is None:
        return found.weights
    for weights in (found.weights, extend_proof(problem.system, found.weights, earlier)):
        # first without the earlier weights, whose rounding may bury the contradiction
        proof = prove(problem.system, targets, weights)
        if proof.infeasible:
            return proof.weights
    for way in (_by_programs, _by_whole_numbers):
        other = way(problem, targets)
        if isinstance(other, Proof) and other.infeasible:
            return other.weights
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    masses: FloatArray
    point: ExactPoint


def _bare_row(problem: Problem, targets: ExactTargets) -> Proof | None:
    """Return the proof by a row without profiles: its target is positive."""
    bare = np.flatnonzero(~problem.system.find_supported())
    if not len(bare):
        return None
    weights = np.zeros(problem.system.rows, dtype=np.int64)
    # no profile lies in the row, so C^T t is 0, and b.t is minus its target
    weights[bare[0]] = -1
    return prove(problem.system, targets, weights)


def _search(problem: Problem, targets: ExactTargets) -> Proof | _Solved | None:
    """Return the evidence from Newton's steps; None if they end, or stagnate without an exact solution nearby."""
    try:
        # asked here, so that equations beyond the memory leave the verdict to the other ways
        hessian_of(problem)
    except TooLargeError:
        return None
    space = ArrayEvidence(problem, targets=targets)
    point, _ = space.warm_up(space.start(), None, SWEEPS)
    return search_evidence(space, begin(space, point))


@dataclass(slots=True, eq=False)
class ArrayEvidence(ArraySpace):
    """A problem in memory, whose candidates are judged in exact numbers: see `EvidenceSpace`."""

    targets: ExactTargets = field(kw_only=True)

    def signs(self, point: Iterate, direction: Direction) -> Signs:
        """Return the evidence from a direction; the cost of lowering it uses the rows of the cheapest constraint."""
        system, change = self.problem.system, on_profiles(self.problem.system, direction.potentials)
        highest = np.empty(system.rows)
        # lowering d on the rows of one constraint alone suffices to make w <= 0 everywhere
        price = min(
            float(repair_price(change, system.index[k], self.problem.targets[rows], highest[rows]))
            for k, rows in enumerate(map(system.block, range(len(system.scopes))))
        )
        size, gain = float(np.abs(direction.potentials).max()), float(self.problem.targets @ direction.potentials)
        return Signs(float(change.min()), float(change.max()), size, gain, price, float(point.masses.min()))

    def accept(self, point: Iterate, change: ArrayChange) -> _Solved | None:
        """Return the exact solution next to one to rounding."""
        masses = point.masses + change.moves
        # a float that meets the targets to rounding proves nothing: a point next to it has to meet them exactly
        exact = exact_point(self.problem.system, self.targets, masses) if masses.min() > 0.0 else None
        return None if exact is None else _Solved(masses, exact)

    def weigh(self, point: Iterate, direction: Direction, scale: float) -> Proof | None:
        """Return what whole weights prove exactly."""
        # minus: the dual rises along d, and t = -d has b.t < 0
        weights = round_to_whole(-direction.potentials, scale)
        if weights is None or not weights.any():
            return None
        proof = prove(self.problem.system, self.targets, weights)
        return proof if proof.decides else None

    def broken_relation(self) -> Proof | None:
        """Return the proof by a row that follows from others on this support, but has another target than they say."""
        for row in redundant(self.problem.system):
            weights = np.zeros(self.problem.system.rows, dtype=np.int64)
            weights[row.row] = row.multiplier
            weights[row.rows] -= row.weights
            value = self.targets.dot(weights)
            # C^T t is 0 for such a relation, so any b.t but 0 is a contradiction
            if value:
                proof = prove(self.problem.system, self.targets, weights if value < 0 else -weights)
                if proof.infeasible:
                    return proof
        return None


def _by_programs(problem: Problem, targets: ExactTargets) -> Proof | None:
    """Return what linear programs lead to, rounded to whole numbers."""
    if problem.system.index.size > _LARGEST_PROGRAM:
        return None
    for program in (refuting_weights, emptying_weights):
        found = program(problem.system)
        # vertices of such programs are often small fractions, of a denominator that divides 60
        for scale in () if found is None else (1.0, 2.0, 6.0, 60.0, _FINE):
            candidate = None if found is None else round_to_whole(found, scale)
            if candidate is None:
                continue
            proof = prove(problem.system, targets, candidate)
            if proof.decides:
                return proof
    return None


def _by_whole_numbers(problem: Problem, targets: ExactTargets) -> Proof | _Solved | None:
    """Return what the simplex method in whole numbers says of a small problem."""
    answer = exact_answer(problem.system, targets)
    if answer is None:
        return None
    if isinstance(answer, tuple):
        point = explicit_point(problem.system, targets, answer)
        # for display; the proof is the exact shares
        masses = np.array([float(share) for share in answer]) * problem.total
        return None if point is None else _Solved(masses, point)
    proof = prove(problem.system, targets, answer)
    return proof if proof.decides else None


def _refuting_cut(problem: Problem, targets: ExactTargets) -> Proof | None:
    """Return the proof by the minimum cut, where the constraints are a flow and it falls short."""
    triangle = triangle_of(problem.system)
    cut = None if triangle is None else minimum_cut(problem.system, targets, triangle)
    if cut is None:
        return None
    proof = prove(problem.system, targets, cut)
    return proof if proof.infeasible else None
