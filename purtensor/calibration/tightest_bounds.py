"""The tightest bounds on the ratios of weights within which controls can be met, and what potentials prove of them.

For any y, and any r with low <= r <= high whose rows are in their intervals, b <= y C r <= high p - low m, where
b = sum of lower y+ - upper y-, and p and m are the sums of the positive and of the negative parts of z = C^T y. So
bounds for which high p - low m < b cannot be met, and that is so for rounded y as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.optimize import brentq, linprog

from purtensor._options import is_number
from purtensor._typing import FloatArray
from purtensor.calibration.groups import Asked, Merged, find_total
from purtensor.constraints.rows import row_sizes
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError

_UNIT = 2.0**-53
_SPARE = 8
"""Roundings in each term beside its sum: of design weight, of the row's unit, of the product, and some to spare."""


@dataclass(frozen=True, slots=True)
class WeakDual:
    """The numbers of the inequality: at least `least_asked`, at most `most_positive`, at least `least_negative`."""

    least_asked: float
    most_positive: float
    least_negative: float

    def least_upper(self, low: float) -> float:
        """Return what an upper end that goes with a lower one is at least."""
        if self.most_positive <= 0.0:
            return 0.0
        return max(0.0, (self.least_asked + low * self.least_negative) / self.most_positive * (1.0 - _SPARE * _UNIT))

    def largest_lower(self, high: float) -> float:
        """Return what a lower end that goes with an upper one is at most; infinite where nothing is proved."""
        if self.least_negative <= 0.0:
            return math.inf
        positive, asked = high * self.most_positive, self.least_asked
        spare = _SPARE * _UNIT * (positive + abs(asked))
        return max(0.0, (positive - asked + spare) / self.least_negative * (1.0 + _SPARE * _UNIT))

    def least_symmetric(self) -> float:
        """Return what s of bounds 1/s and s is at least: the root of s p - m / s = b."""
        if self.most_positive <= 0.0:
            return 0.0
        half = 0.5 * self.least_asked / self.most_positive
        other = self.least_negative / self.most_positive
        root = math.sqrt(half * half + other)
        # for half < 0 the sum would cancel
        found = half + root if half >= 0.0 else other / (root - half)
        return max(1.0, found * (1.0 - 4 * _SPARE * _UNIT))


def weak_dual(rows: sparse.csr_array, lower: FloatArray, upper: FloatArray, potentials: FloatArray) -> WeakDual:
    """Return what potentials of the rows prove; those without the end that their sign speaks of count as 0."""
    # a potential without its end would multiply an infinity: leaving it out keeps the inequality valid
    y = np.where(potentials > 0.0, np.where(np.isfinite(lower), potentials, 0.0), 0.0)
    y += np.where(potentials < 0.0, np.where(np.isfinite(upper), potentials, 0.0), 0.0)
    z, size = rows.T @ y, abs(rows).T @ np.abs(y)
    per_column = np.diff(rows.tocsc().indptr).max(initial=0)
    # of a sum of so many products: a unit of rounding each, by their sizes
    error = (per_column + _SPARE) * _UNIT * size
    terms = np.where(y > 0.0, lower, np.where(y < 0.0, upper, 0.0)) * y
    asked = float(terms.sum()) - (len(y) + _SPARE) * _UNIT * float(np.abs(terms).sum())
    summing = (rows.shape[1] + _SPARE) * _UNIT
    # each sum is rounded to the side on which the inequality stays true
    positive = float(np.maximum(z + error, 0.0).sum()) * (1.0 + summing)
    negative = float(np.maximum(-z - error, 0.0).sum()) * (1.0 - summing)
    return WeakDual(asked, positive, negative)


# the tightest that HiGHS allows; the default of 1e-7 would show in the bounds
_PROGRAM = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_WIDEST = 1e6
"""The largest ratio that is tried."""


@dataclass(frozen=True, slots=True)
class TightestBounds:
    """Bounds that can be met, and beyond which nothing can.

    Attributes
    ----------
    lower, upper
        The ends, relative to the design weights as the calibration took them.
    ratios
        Shape (groups,): ratios within them that meet the controls.
    binding
        The names of the controls that bind: relaxing them would tighten the bounds most.
    proved
        What the end that was searched for cannot pass, whatever the ratios: an upper end is at least this, a lower one
        at most; of bounds 1/s and s it is said of s. Proved from the potentials, with all rounding counted.
    """

    lower: float
    upper: float
    ratios: FloatArray = field(repr=False)
    binding: tuple[str, ...]
    proved: float


def tightest_bounds(asked: Asked, merged: Merged, *, lower: float | None, upper: float | None) -> TightestBounds:
    """Return the tightest other end, or the least s of bounds 1/s and s where none is given.

    Each is the value of a linear program, to its tolerance of 1e-10; s solves s l(s) = 1, l(s) the largest lower end
    that goes with the upper end s. The program's potentials prove that nothing tighter can be met.

    Raises
    ------
    InvalidOptionError
        Both ends, or ends on the wrong side.
    InfeasibleError
        No bounds will do.
    """
    if lower is not None and upper is not None:
        raise InvalidOptionError("give either lower or upper, and the other limit is computed; got both")
    for name, value in (("lower", lower), ("upper", upper)):
        if value is not None and not (is_number(value) and 0 <= value < np.inf):
            raise InvalidOptionError(f"{name} must be a finite ratio of at least 0, got {value!r}")
    program = _program(asked, merged)
    if lower is not None:
        return program.least_upper(float(lower))[0]
    if upper is not None:
        return program.largest_lower(float(upper))[0]
    widest, proved = program.least_upper(0.0)  # refuses controls that contradict each other
    low = max(widest.upper, 1.0)
    # even the least upper end admits 1/s as a lower one: it alone decides
    if low * program.largest_lower(low)[0].lower >= 1.0:
        found, _ = program.largest_lower(low)
        return TightestBounds(1.0 / low, low, found.ratios, found.binding, proved.least_upper(0.0))
    high = 2.0 * low
    # s l(s) increases with s, as a wider upper end never lowers l(s): so the root can be bracketed
    while high * program.largest_lower(high)[0].lower < 1.0:
        high *= 4.0
        if high > _WIDEST:
            raise InfeasibleError(
                f"no bounds 1/s and s up to s = {_WIDEST:g} can be met: the controls force the weight of some record "
                "to 0"
            )
    s = float(brentq(lambda s: s * program.largest_lower(s)[0].lower - 1.0, low, high, xtol=1e-13, rtol=1e-14))
    found, proved = program.largest_lower(s)
    return TightestBounds(1.0 / s, s, found.ratios, found.binding, proved.least_symmetric())


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    """Ratios r with lower <= rows @ r <= upper, and low <= r <= high where low or high is to be the best."""

    rows: sparse.csr_array
    lower: FloatArray
    upper: FloatArray
    names: tuple[str, ...]
    groups: int

    def least_upper(self, low: float) -> tuple[TightestBounds, WeakDual]:
        best, ratios, binding, proof = self._solve(np.inf, low, sign=1.0)
        return TightestBounds(low, best, ratios, binding, proof.least_upper(low)), proof

    def largest_lower(self, high: float) -> tuple[TightestBounds, WeakDual]:
        best, ratios, binding, proof = self._solve(high, 0.0, sign=-1.0)
        return TightestBounds(best, high, ratios, binding, proof.largest_lower(high)), proof

    def _solve(self, high: float, low: float, sign: float) -> tuple[float, FloatArray, tuple[str, ...], WeakDual]:
        """Minimise the upper end (sign 1) above r, or maximise the lower end (sign -1) below r."""
        n = self.groups
        above, below = np.flatnonzero(np.isfinite(self.upper)), np.flatnonzero(np.isfinite(self.lower))
        # one more variable stands for the end: r - t <= 0 or t - r <= 0, and t is the objective
        ends = sparse.hstack([sign * sparse.eye_array(n), -sign * np.ones((n, 1))], format="csr")
        wide = sparse.hstack([self.rows, sparse.csr_array((self.rows.shape[0], 1))], format="csr")
        solved = linprog(
            np.append(np.zeros(n), sign),
            A_ub=sparse.vstack([ends, wide[above], -wide[below]], format="csr"),
            b_ub=np.concatenate([np.zeros(n), self.upper[above], -self.lower[below]]),
            bounds=[(low, high)] * n + [(0.0, None)],
            method="highs",
            options=_PROGRAM,
        )
        if solved.status == 2:
            raise InfeasibleError(
                f"no weights with ratios between {low:g} and {high:g} meet the controls, for any other limit"
                if low > 0 or np.isfinite(high)
                else "no weights meet the controls, for any bounds"
            )
        if solved.status != 0:
            raise NotConvergedError(f"the tightest bounds could not be computed: {solved.message}")
        potentials = np.zeros(self.rows.shape[0])
        # marginals of <= rows are at most 0; those of lower ends enter with the other sign, as their rows did
        potentials[above] += solved.ineqlin.marginals[n : n + len(above)]
        potentials[below] -= solved.ineqlin.marginals[n + len(above) :]
        force = np.abs(potentials)
        # what is smaller is the tolerance of the program
        strong = force > 1e-9 * force.max(initial=0.0)
        named = [self.names[row] for row in np.argsort(-force, kind="stable") if strong[row]]
        proof = weak_dual(self.rows, self.lower, self.upper, potentials)
        return float(solved.x[n]), np.asarray(solved.x[:n]), tuple(named), proof


def _program(asked: Asked, merged: Merged) -> _Program:
    hard = [block for block in merged.blocks if block.softness is None]
    if not hard:
        raise InvalidOptionError("all controls are soft, so any bounds can be met")
    f = merged.weights
    if asked.relative_to == "scaled":
        total = find_total(hard)
        # ratios to weights that were scaled first
        f = f if total is None else f * (total / f.sum())
    rows = sparse.vstack([block.coefficients for block in hard], format="csr") @ sparse.diags_array(f)
    units = row_sizes(rows)
    # the program's tolerance is absolute: rows of all units are brought to the size 1
    units = np.where(units > 0, units, 1.0)
    names = [
        label if block.is_marginal and label else f"{block.name}, {label}" if label else block.name
        for block in hard
        for label in block.labels
    ]
    return _Program(
        sparse.csr_array(sparse.diags_array(1.0 / units) @ rows),
        np.concatenate([block.lower for block in hard]) / units,
        np.concatenate([block.upper for block in hard]) / units,
        tuple(names),
        len(f),
    )
