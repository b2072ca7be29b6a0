"""Decomposable constraint sets, and the projection in closed form where it has one.

Scopes are decomposable when they can be put in a line in which each meets all before it inside one of them: its
separator. Then the product of the targets over the product of their separators' marginals meets all targets, and it is
the projection when the reference itself is such a product (notes/independence.md, equation 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.consistency import ROUNDING
from purtensor.constraints.system import System, group_rows
from purtensor.kernels.reductions import group_sums
from purtensor.tables.grouping import group_profiles


@dataclass(frozen=True, slots=True)
class Clique:
    """A scope in line.

    Attributes
    ----------
    number
        Which of the given scopes it is.
    scope
        Its attributes.
    separator
        Those of them that occur in the scopes before it; all of these stand in one earlier scope.
    """

    number: int
    scope: tuple[str, ...]
    separator: tuple[str, ...]


def decomposable(scopes: Sequence[Sequence[str]]) -> tuple[Clique, ...] | None:
    """Return the scopes in line, those that lie within another left out; None where they are not decomposable.

    Graham's reduction: again and again a scope is taken away that meets the rest inside a single other scope.

    Examples
    --------
    >>> from purtensor.constraints.decomposable import decomposable
    >>> [clique.separator for clique in decomposable([("y", "x"), ("s", "x")])]
    [(), ('x',)]
    >>> decomposable([("y", "x"), ("s", "x"), ("y", "s")]) is None
    True
    """
    left = _maximal(scopes)
    line: list[Clique] = []
    while left:
        # from the end, because the line is turned round below: scopes stay in the given order if they can
        taken = next((k for k in reversed(left) if _is_ear(k, left)), None)
        if taken is None:
            return None
        scope = left.pop(taken)
        rest = frozenset().union(*left.values())
        names = tuple(scopes[taken])
        line.append(Clique(taken, names, tuple(name for name in names if name in scope & rest)))
    return tuple(reversed(line))


def _maximal(scopes: Sequence[Sequence[str]]) -> dict[int, frozenset[str]]:
    """Return the scopes that lie in no other, by number; of equal ones the first."""
    sets = [frozenset(scope) for scope in scopes]
    return {
        k: own
        for k, own in enumerate(sets)
        if not any(own < other or (own == other and j < k) for j, other in enumerate(sets))
    }


def _is_ear(k: int, left: dict[int, frozenset[str]]) -> bool:
    others = [scope for j, scope in left.items() if j != k]
    shared = left[k] & frozenset().union(*others)
    return not others or any(shared <= scope for scope in others)


def compute_closed_form(masses: FloatArray, system: System) -> FloatArray | None:
    """Return the projection of the masses in closed form, shape (M,), or None where there is none.

    There is one when the scopes are decomposable and the reference lies in their family, to 64 eps. Attributes that no
    constraint mentions keep their conditional distribution. The answer has been checked against all targets, to 64 eps
    of their total.

    Parameters
    ----------
    masses
        The reference on its support, positive.
    system
        The constraints on that support.
    """
    line = decomposable(system.scopes)
    if line is None or not len(masses):
        return None
    joint = _joint_groups(system, line, masses)
    if joint is None:
        return None
    total = system.targets[system.block(line[0].number)].sum()
    # notes/independence.md, equation 5, spread over the profiles of each group as the reference is
    answer = total * masses / group_sums(masses, joint, int(joint.max()) + 1)[joint]
    for clique in line:
        block = system.block(clique.number)
        targets = system.targets[block]
        separator = _separator_of_rows(system, clique)
        of_separator = group_sums(targets, separator, int(separator.max()) + 1)[separator]
        # 0 / 0, a separator without mass, is a share of 0
        share = np.divide(targets, of_separator, out=np.zeros_like(targets), where=targets > 0)
        answer *= share[system.index[clique.number]]
    return answer if _meets_targets(answer, system) else None


def _joint_groups(system: System, line: Sequence[Clique], masses: FloatArray) -> IntArray | None:
    """Return each profile's group in all constrained attributes together; None where the masses do not factorise.

    They do when, clique by clique, mass(so far and clique) mass(separator) = mass(so far) mass(clique).
    """
    joint: IntArray = system.index[line[0].number].astype(np.int64)
    for clique in line[1:]:
        own = system.index[clique.number].astype(np.int64)
        separator = _separator_of_rows(system, clique)
        together, (before, row) = group_profiles([joint, own], [int(joint.max()) + 1, len(separator)])
        of_separator = group_sums(masses, separator[own], len(separator))
        left = group_sums(masses, together, len(before)) * of_separator[separator[row]]
        so_far = group_sums(masses, joint, int(joint.max()) + 1)
        right = so_far[before] * group_sums(masses, own, len(separator))[row]
        # a product of sums of counts, all below 2^53, is wrong by one rounding
        if np.any(np.abs(left - right) > ROUNDING * right):
            return None
        joint = together
    return joint


def _separator_of_rows(system: System, clique: Clique) -> IntArray:
    """Return for each row of a clique's constraint the number of its profile in the separator."""
    return group_rows(system, [clique.number], clique.separator)[0]


def _meets_targets(answer: FloatArray, system: System) -> bool:
    total = system.targets[system.block(0)].sum()
    for k in range(len(system.scopes)):
        targets = system.targets[system.block(k)]
        sums = group_sums(answer, system.index[k], len(targets))
        if not np.all(np.abs(sums - targets) <= ROUNDING * total):
            return False
    return True
