"""Check in exact arithmetic what weights of rows prove: whole numbers for marginals, fractions for rows of any kind.

Let t have C^T t >= 0 on every profile. Then every solution p has p.(C^T t) = b.t. Is b.t negative there is no
solution; is it zero, every profile with a positive C^T t is empty (notes/feasibility.md, equations 1 and 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.system import System
from purtensor.feasibility.targets import ROUNDING, ExactTargets
from purtensor.kernels.feasibility.sums import raise_to
from purtensor.solving.dual.question import Question

# leaves int64 room for the sums of a few such numbers
_LARGEST = 2**60
# beyond, 64 eps b.|t| may hide mass on a profile of cost 1 (notes/feasibility.md, "Limits of floating point")
_LARGEST_OF_FLOATS = 2**12


@dataclass(frozen=True, slots=True, eq=False)
class Proof:
    """Weights t with C^T t >= 0 everywhere, and what follows.

    Attributes
    ----------
    weights
        Shape (D,): whole numbers, of int64 or Python's own.
    costs
        Shape (M,): C^T t.
    value
        b.t, the total mass being 1.
    rounding
        How far from 0 the value may be and still be rounding of the targets; 0 where they are exact.
    """

    weights: IntArray
    costs: IntArray
    value: Fraction
    rounding: Fraction

    @property
    def infeasible(self) -> bool:
        """Whether no solution exists."""
        return self.value < -self.rounding

    @property
    def zeros(self) -> BoolArray:
        """The profiles that are empty in every solution by this proof.

        A profile of cost c has at most the rounding over c; with float targets that is nothing only if no weight is
        much larger than c.
        """
        unclear = self.rounding > 0 and int(np.abs(self.weights).max(initial=0)) > _LARGEST_OF_FLOATS
        if abs(self.value) > self.rounding or unclear:
            return np.zeros(len(self.costs), dtype=bool)
        positive: BoolArray = self.costs > 0
        return positive.astype(bool)

    @property
    def decides(self) -> bool:
        """Whether it refutes the constraints or empties profiles."""
        return self.infeasible or bool(self.zeros.any())


def prove(system: System, targets: ExactTargets, weights: IntArray) -> Proof:
    """Return what weights prove once they are repaired: raised until C^T t >= 0, where that costs least of b.t."""
    # sums over the constraints of a profile must not overflow, or the proof would be false
    weights = fit_type(weights, len(system.scopes))
    costs = spread_whole(system.index, system.offsets, weights)
    if len(costs) and costs.min() < 0:
        weights = repair(system, weights, costs)
        costs = spread_whole(system.index, system.offsets, weights)
    rounding = targets.rounding(weights)
    if not targets.exact and not costs.any():  # a relation among rows: these agree within a share of the total
        rounding = max(rounding, ROUNDING * int(np.abs(weights).max(initial=0)))
    return Proof(weights, costs, targets.dot(weights), rounding)


def repair(system: System, weights: IntArray, costs: IntArray) -> IntArray:
    """Return weights with the rows of one constraint raised by what their profiles lack; the cheapest constraint."""
    best: tuple[float, int, IntArray] | None = None
    for k in range(len(system.scopes)):
        lacking = np.zeros(system.block(k).stop - system.block(k).start, dtype=weights.dtype)
        if weights.dtype == object:
            np.maximum.at(lacking, system.index[k], -costs)
        else:
            raise_to(lacking, system.index[k], costs)
        price = float(system.targets[system.block(k)] @ lacking.astype(np.float64))
        # floats choose, integers prove: a wrong choice only makes the proof weaker
        if best is None or price < best[0]:
            best = (price, k, lacking)
    weights = weights.copy()
    if best is not None:
        weights[system.block(best[1])] += best[2]
    return fit_type(weights, len(system.scopes))


def spread_whole(index: IntArray, offsets: IntArray, weights: IntArray) -> IntArray:
    """Return C^T weights exactly."""
    costs: IntArray = weights[index[0]]
    for begin, rows in zip(offsets[1:], index[1:], strict=False):
        costs = costs + weights[begin:][rows]
    return costs


def exact_terms(targets: FloatArray, weights: IntArray) -> list[Fraction]:
    """Return float targets times whole numbers, without those of weight 0."""
    used = np.flatnonzero(weights)
    pairs = zip(targets[used].tolist(), weights[used].tolist(), strict=True)
    return [Fraction(target) * weight for target, weight in pairs]


def fit_type(weights: IntArray, terms: int) -> IntArray:
    """Return weights as int64 where sums of so many of them cannot overflow, else as Python's own numbers."""
    if len(weights) == 0:
        return weights.astype(np.int64)
    largest = max(abs(int(weights.max())), abs(int(weights.min())))
    return weights.astype(np.int64 if largest < _LARGEST // (2 * terms + 2) else object)


def extend_proof(system: System, proof: IntArray, earlier: IntArray | None) -> IntArray:
    """Return weights that hold on all profiles, from weights that hold where `earlier` has cost 0.

    So much of the earlier weights is added as makes every cost on their zeros not negative; their b.t is 0.
    """
    if earlier is None:
        return proof
    costs, base = (
        spread_whole(system.index, system.offsets, proof).astype(object),
        spread_whole(system.index, system.offsets, earlier).astype(object),
    )
    lacking = np.flatnonzero((costs < 0) & (base > 0))
    factor = max((-(int(costs[i]) // int(base[i])) for i in lacking), default=0)
    # one more, so that costs on the earlier zeros are positive, not 0: the zeros stay proved
    factor = max(factor, 1) + 1
    return fit_type(proof.astype(object) + factor * earlier.astype(object), len(system.scopes))


def tidy(system: System, weights: IntArray) -> IntArray:
    """Return the same proof in a standard form: no common factor, and 0 the commonest weight of each later constraint.

    What a constraint loses on all of its rows the first one gets: both sum to the total mass.
    """
    weights = weights.copy()
    for k in range(1, len(system.scopes)):
        values, counts = np.unique(weights[system.block(k)], return_counts=True)
        if len(values):
            # every constraint sums to the same total, so a constant may move from one to another
            commonest = values[np.argmax(counts)]
            weights[system.block(k)] -= commonest
            weights[system.block(0)] += commonest
    factor = int(np.gcd.reduce(weights)) if len(weights) else 0
    return weights // factor if factor > 1 else weights


def round_to_whole(weights: FloatArray, scale: float) -> IntArray | None:
    """Return the nearest whole numbers to weights * scale; None where they are not numbers, or beyond 2^53."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.rint(weights * scale)
    # beyond, float64 no longer holds every whole number; NaN fails, too
    if not np.all(np.abs(values) <= 2.0**53):
        return None
    return values.astype(np.int64)


# simple fractions first, which make a readable proof; None takes the floats as they are
_DENOMINATORS = (1, 2, 6, 60, 5040, 10**6, 10**9, None)


def refute(question: Question, weights: FloatArray) -> tuple[Fraction, ...] | None:
    """Return fractions y near the weights for which y's rows ask for more than the bounds allow; None without any.

    It is a proof in exact arithmetic of the floats as they are (notes/one_dual.md, 16): the sum of lower y+ - upper y-
    is above that of high z+ - low z-, z = C^T y.
    """
    size = np.abs(weights).max(initial=0.0)
    if not size > 0.0:
        return None
    # smaller ones are the tolerance of the program that proposed the weights; and an infinite end asks for nothing
    asking = np.where(weights > 0, question.row_lower, question.row_upper)
    used = np.flatnonzero((np.abs(weights) > 1e-9 * size) & np.isfinite(asking))
    for denominator in _DENOMINATORS:
        ray = [Fraction(0)] * question.rows
        for row in used.tolist():
            exact = Fraction(float(weights[row] / size))
            ray[row] = exact if denominator is None else exact.limit_denominator(denominator)
        for lifted in _lift(question, used, ray):
            if excess_of(question, lifted) > 0:
                return tuple(lifted)
    return None


def _lift(question: Question, used: IntArray, ray: list[Fraction]) -> Iterator[list[Fraction]]:
    """Yield the ray, and those lowered by a row that is positive on all unbounded cells, until none rises there."""
    yield ray
    unbounded = np.flatnonzero(np.isinf(question.upper))
    pulls = combine(question, ray) if len(unbounded) else []
    over = max((pulls[cell] for cell in unbounded), default=Fraction(0))
    if over <= 0:
        return
    for row in used[np.isfinite(question.row_upper[used])].tolist():
        own = question.coefficients[[row]].toarray().reshape(-1)[unbounded]
        if (own > 0.0).all():
            lower = list(ray)
            # by what brings the largest z on unbounded cells to 0: with z > 0 there the bound would be infinite
            lower[row] -= over / Fraction(float(own.min()))
            yield lower


def combine(question: Question, ray: Sequence[Fraction]) -> list[Fraction]:
    """Return C^T y."""
    pulls = [Fraction(0)] * len(question.reference)
    c = question.coefficients
    for row, y in enumerate(ray):
        if y:
            own = slice(c.indptr[row], c.indptr[row + 1])
            for cell, value in zip(c.indices[own].tolist(), c.data[own].tolist(), strict=True):
                pulls[cell] += y * Fraction(value)
    return pulls


def excess_of(question: Question, ray: Sequence[Fraction]) -> Fraction:
    """Return by how much the rows that a ray combines ask for more than the bounds allow.

    It is not positive where the ray proves nothing.
    """
    excess = Fraction(0)
    for y, lower, upper in zip(ray, question.row_lower.tolist(), question.row_upper.tolist(), strict=True):
        if y:
            asked = lower if y > 0 else upper
            if math.isinf(asked):
                return Fraction(-1)
            excess += y * Fraction(asked)
    for z, low, high in zip(combine(question, ray), question.lower.tolist(), question.upper.tolist(), strict=True):
        if z:
            allowed = high if z > 0 else low
            if math.isinf(allowed):
                return Fraction(-1)
            excess -= z * Fraction(allowed)
    return excess
