"""The derivative of a number h(q) of a projection with respect to the data, and how each target depends on these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._options import items_of
from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.engine import engine_for
from purtensor.kernels.reductions import group_sums
from purtensor.solving.hessian.factored import Factored, solve_refined
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import Problem
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import find_profiles

KINDS = ("marginal", "parity", "fixed")
# far above rounding, far below what one individual changes in a sample of millions
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """One of two marginals of f whose product is a parity: the groups of rows and of profiles of f, and their sums."""

    of_rows: IntArray
    of_profiles: IntArray
    sums: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """One constraint's target b as a function of the data f.

    Attributes
    ----------
    kind
        "marginal": b is a marginal of f; "parity": b = f(one attribute) f(the others); "fixed": b does not depend on f.
    block
        The rows of the constraint among all rows.
    row
        For each profile of f its row within the constraint, -1 where there is none.
    factors
        For parity: the marginal over the single attribute, and that over the others.
    """

    kind: str
    block: slice
    row: IntArray
    factors: tuple[Factor, ...] = ()

    def pull_back(self, potentials: FloatArray) -> FloatArray:
        """Return the derivative of b . potentials with respect to f, one number per profile of f."""
        own = potentials[self.block]
        if self.kind == "fixed":
            return np.zeros(len(self.row))
        if self.kind == "marginal":
            # profiles of the data that the target has no row for do not move it
            return np.asarray(np.where(self.row >= 0, own[self.row], 0.0))
        found = np.zeros(len(self.row))
        for factor, other in (self.factors, self.factors[::-1]):
            # the product rule: each factor's derivative is the other, summed over the rows that share it
            sums = np.bincount(factor.of_rows, own * other.sums[other.of_rows], len(factor.sums))
            found += sums[factor.of_profiles]
        return found


def find_dependences(
    problem: Problem,
    codes: Sequence[Sequence[IntArray]],
    f: FloatArray,
    names: Sequence[str],
    kinds: Iterable[str] | None,
) -> tuple[Dependence, ...]:
    """Return how each target depends on the data, found out by comparing, or as `kinds` says.

    Parameters
    ----------
    problem
        The projection problem.
    codes
        For each constraint the codes of its attributes for each profile of the data, in the categories of the problem.
    f
        The data, of total 1.
    names
        The names of the targets: they decide where a target is both.
    kinds
        "marginal", "parity" or "fixed" for each constraint; None to find out.

    Raises
    ------
    InvalidOptionError
        Other kinds, another number of them, or a target that is no such function of the data.
    """
    constraints = len(problem.system.scopes)
    named = [None] * constraints if kinds is None else _check_kinds(kinds, constraints)
    return tuple(_find_dependence(problem, k, codes[k], f, names[k], named[k]) for k in range(constraints))


def _check_kinds(kinds: Iterable[str], constraints: int) -> list[str]:
    """Return the kinds that were given, one for each constraint."""
    named = None if isinstance(kinds, str) else items_of(kinds)
    if named is None or len(named) != constraints or any(not isinstance(k, str) or k not in KINDS for k in named):
        given = kinds if named is None else named
        strange = next((k for k in named or () if not isinstance(k, str) or k not in KINDS), given)
        sentence = f"targets must be one of {', '.join(KINDS)} for each of {constraints} constraints, got {given!r}"
        raise InvalidOptionError.among("targets", strange, KINDS, sentence)
    return named


def _find_dependence(
    problem: Problem, k: int, codes: Sequence[IntArray], f: FloatArray, name: str, kind: str | None
) -> Dependence:
    system = problem.system
    block, row_codes = system.block(k), system.row_codes[k]
    target = system.targets[block] / problem.total
    row = find_profiles(row_codes, codes)
    if kind == "fixed":
        return Dependence("fixed", block, row)
    # a target that lacks some of the data's profiles is no marginal of them, even if the rest agrees
    known = row >= 0
    is_marginal = bool(known.all()) and _agree(group_sums(f[known], row[known], len(target)), target)
    # any attribute may be the response; a single one leaves no other side
    splits = range(len(row_codes)) if len(row_codes) > 1 else range(0)
    products = [found for single in splits if (found := _factorize(row_codes, codes, f, target, single))]
    # independent data have parities that are marginals as well: then the name decides
    wanted = kind or ("parity" if products and (name == "parity" or not is_marginal) else "marginal")
    if wanted == "parity" and products:
        return Dependence("parity", block, row, products[0])
    if wanted == "marginal" and is_marginal:
        return Dependence("marginal", block, row)
    raise InvalidOptionError(
        f"the target over ({', '.join(system.scopes[k])}) is no {kind or 'marginal of the data and not their parity'}: "
        "give the table that the targets came from as data=, or say how each target depends on it, such as "
        "targets=('parity', 'marginal', 'fixed')"
    )


def _factorize(
    row_codes: Sequence[IntArray], codes: Sequence[IntArray], f: FloatArray, target: FloatArray, single: int
) -> tuple[Factor, Factor] | None:
    """Return the factors where the target is f(attribute `single`) f(the others), else None."""
    factors = []
    for chosen in ([single], [i for i in range(len(row_codes)) if i != single]):
        joint = [np.concatenate([row_codes[i], codes[i]]) for i in chosen]
        # a category of the data that the target lacks has no product there
        if any(code.min() < 0 for code in joint):
            return None
        group, distinct = group_profiles(joint, [int(code.max()) + 1 for code in joint])
        of_rows, of_profiles = np.split(group, [len(target)])
        factors.append(Factor(of_rows, of_profiles, group_sums(f, of_profiles, len(distinct[0]))))
    one, others = factors
    product = one.sums[one.of_rows] * others.sums[others.of_rows]
    return (one, others) if _agree(product, target) else None


def _agree(found: FloatArray, target: FloatArray) -> bool:
    return bool(np.abs(found - target).max() <= _ROUNDING)


@dataclass(frozen=True, slots=True, eq=False)
class Influence:
    """Turns gradients over the profiles of q into derivatives with respect to the data (notes/standard_errors.md).

    Attributes
    ----------
    problem, factored
        The projection problem, and C diag(q) C^T, factored at q.
    q, f
        The projection and the data, each of total 1; they have different profiles where the data have more.
    place
        Where among the profiles of f each profile of q stands; None when the reference does not depend on the data.
    dependences
        How each target depends on the data.
    """

    problem: Problem
    factored: Factored
    q: FloatArray
    f: FloatArray
    place: IntArray | None
    dependences: tuple[Dependence, ...]

    def of(self, gradient: FloatArray) -> FloatArray:
        """Return dh/df for each profile of the data, up to a constant (notes/standard_errors.md, equation 5)."""
        with engine_for(self.problem.index.size):
            return self._of(gradient)

    def _of(self, gradient: FloatArray) -> FloatArray:
        potentials = self._adjoint(gradient)
        found = np.zeros(len(self.f))
        for dependence in self.dependences:
            # B^T a, target by target
            found += dependence.pull_back(potentials)
        if self.place is not None:
            # q/f (g - C^T a), for the reference; f is positive wherever q is
            found[self.place] += self.q * (gradient - on_profiles(self.problem.system, potentials)) / self.f[self.place]
        return found

    def covariance(self, one: FloatArray, other: FloatArray, size: int) -> float:
        """Return the covariance of two numbers by their derivatives (notes/standard_errors.md, equation 6)."""
        # centred first: the difference of the two sums in equation 6 would cancel
        mean_one, mean_other = float(self.f @ one), float(self.f @ other)
        return float(self.f @ ((one - mean_one) * (other - mean_other))) / size

    def _adjoint(self, gradient: FloatArray) -> FloatArray:
        """Return a with C diag(q) C^T a = C (q gradient), refined until rounding."""
        return solve_refined(self.problem, self.factored, self.q, row_sums(self.problem.system, self.q * gradient))


def share_within(q: FloatArray, is_y: BoolArray, is_s: BoolArray) -> tuple[float, FloatArray]:
    """Return q(y | s) and its gradient (notes/standard_errors.md, equation 7)."""
    whole = float(q[is_s].sum())
    share = float(q[is_s & is_y].sum()) / whole
    return share, np.where(is_s, (is_y - share) / whole, 0.0)
