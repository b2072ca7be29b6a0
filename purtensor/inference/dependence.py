"""How the target of each constraint depends on the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._options import items_of
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.kernels.sums import group_sums
from purtensor.solving.problem import Problem
from purtensor.tables.grouping import group_profiles
from purtensor.tables.profile_lookup import lookup

KINDS = ("marginal", "parity", "fixed")
# far above rounding, far below what one individual changes in a sample of millions
_ROUNDING = 1e-9


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
    one, others
        For parity: the group of each row by the single attribute and by the others.
    one_of, others_of
        The same for each profile of f.
    of_one, of_others
        The marginals of f over these groups.
    """

    kind: str
    block: slice
    row: IntArray
    one: IntArray
    others: IntArray
    one_of: IntArray
    others_of: IntArray
    of_one: FloatArray
    of_others: FloatArray

    def pulled_back(self, potentials: FloatArray) -> FloatArray:
        """Return the derivative of b . potentials with respect to f, one number per profile of f."""
        own = potentials[self.block]
        if self.kind == "fixed":
            return np.zeros(len(self.row))
        if self.kind == "marginal":
            # profiles of the data that the target has no row for do not move it
            return np.asarray(np.where(self.row >= 0, own[self.row], 0.0))
        # the product rule: each factor's derivative is the other, summed over the rows that share it
        by_one = np.bincount(self.one, own * self.of_others[self.others], len(self.of_one))
        by_others = np.bincount(self.others, own * self.of_one[self.one], len(self.of_others))
        return np.asarray(by_one[self.one_of] + by_others[self.others_of])


def dependences(
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
    named = [None] * constraints if kinds is None else _named(kinds, constraints)
    return tuple(_dependence(problem, k, codes[k], f, names[k], named[k]) for k in range(constraints))


def _named(kinds: Iterable[str], constraints: int) -> list[str]:
    """Return the kinds that were given, one for each constraint."""
    named = None if isinstance(kinds, str) else items_of(kinds)
    if named is None or len(named) != constraints or any(not isinstance(k, str) or k not in KINDS for k in named):
        told = kinds if named is None else named
        strange = next((k for k in named or () if not isinstance(k, str) or k not in KINDS), told)
        sentence = f"targets must be one of {', '.join(KINDS)} for each of {constraints} constraints, got {told!r}"
        raise InvalidOptionError.among("targets", strange, KINDS, sentence)
    return named


def _dependence(
    problem: Problem, k: int, codes: Sequence[IntArray], f: FloatArray, name: str, kind: str | None
) -> Dependence:
    system = problem.system
    block, row_codes = system.block(k), system.row_codes[k]
    target = system.targets[block] / problem.total
    row = lookup(row_codes, codes)
    empty = np.empty(0, dtype=np.int64)
    plain = Dependence("marginal", block, row, empty, empty, empty, empty, np.empty(0), np.empty(0))
    if kind == "fixed":
        return Dependence("fixed", block, row, empty, empty, empty, empty, np.empty(0), np.empty(0))
    # a target that lacks some of the data's profiles is no marginal of them, even if the rest agrees
    known = row >= 0
    is_marginal = bool(known.all()) and _same(group_sums(f[known], row[known], len(target)), target)
    # any attribute may be the response; a single one leaves no other side
    splits = range(len(row_codes)) if len(row_codes) > 1 else range(0)
    products = [found for single in splits if (found := _product(block, row, row_codes, codes, f, target, single))]
    # independent data have parities that are marginals as well: then the name decides
    wanted = kind or ("parity" if products and (name == "parity" or not is_marginal) else "marginal")
    if wanted == "parity" and products:
        return products[0]
    if wanted == "marginal" and is_marginal:
        return plain
    raise InvalidOptionError(
        f"the target over ({', '.join(system.scopes[k])}) is no {kind or 'marginal of the data and not their parity'}: "
        "give the table that the targets came from as data=, or say how each target depends on it, such as "
        "targets=('parity', 'marginal', 'fixed')"
    )


def _product(
    block: slice,
    row: IntArray,
    row_codes: Sequence[IntArray],
    codes: Sequence[IntArray],
    f: FloatArray,
    target: FloatArray,
    single: int,
) -> Dependence | None:
    """Return the dependence where the target is f(attribute `single`) f(the others), else None."""
    rest = [i for i in range(len(row_codes)) if i != single]
    rows = len(target)
    sides = []
    for chosen in ([single], rest):
        joint = [np.concatenate([row_codes[i], codes[i]]) for i in chosen]
        # a category of the data that the target lacks has no product there
        if any(code.min() < 0 for code in joint):
            return None
        group, distinct = group_profiles(joint, [int(code.max()) + 1 for code in joint])
        sides.append((group[:rows], group[rows:], group_sums(f, group[rows:], len(distinct[0]))))
    (one, one_of, of_one), (others, others_of, of_others) = sides
    if not _same(of_one[one] * of_others[others], target):
        return None
    return Dependence("parity", block, row, one, others, one_of, others_of, of_one, of_others)


def _same(found: FloatArray, target: FloatArray) -> bool:
    return bool(np.abs(found - target).max() <= _ROUNDING)
