"""Corrections along the cycles of a forest: they keep its two constraints, and give the others what they miss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from scipy.linalg import qr

from purtensor._interrupts import run_apart
from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.rank.echelon import primes
from purtensor.constraints.rank.exact_rank import Explicit, rank_profile
from purtensor.constraints.rank.graph import Coupling, Forest
from purtensor.kernels.rank.slab_elimination import echelon_in_place

_MOST_SOLVED = 64
"""Up to so many coupled rows are solved in whole numbers; of more it is proved that a solution exists."""

Shifts = tuple[IntArray, tuple[Fraction, ...], bool]


def shifts_along_cycles(coupling: Coupling, left: IntArray, allowed: Fraction) -> Shifts | None:
    """Return profiles and fractions by which the coupled rows get what is left to them, shape (places,).

    Also returns whether the fractions are amounts; otherwise they bound amounts that exist. Closing profiles are used
    in their order, and more of them where the first do not reach all rows. Rows that follow from others may be off by
    what is allowed. None where rows contradict each other, or too many are coupled.
    """
    closing = coupling.closing
    # the first, heaviest closing profiles usually reach all rows; eightfold where they do not
    count = 2 * len(left) + 64
    while True:
        found = _by_cycles(coupling, closing[:count], left, allowed)
        if found is not None or count >= len(closing):
            return found
        count *= 8


def _by_cycles(coupling: Coupling, closing: IntArray, left: IntArray, allowed: Fraction) -> Shifts | None:
    cycles = coupling.of(closing)
    size = cycles.shape[1]
    # large systems are solved in floats, so their basis has to be well conditioned rather than heavy
    chosen, places = _first_basis(cycles) if size <= _MOST_SOLVED else _stable_basis(cycles)
    if len(chosen) != len(places):
        return None
    profiles, cycles = closing[chosen], cycles[chosen]
    matrix = cycles[:, places].T.astype(np.int64)
    if len(places) <= _MOST_SOLVED:
        solved = solve_whole(matrix, left[places])
        if solved is None or not _reaches(cycles, solved, left, allowed):
            return None
        amounts = [Fraction(numerator, solved[1]) for numerator in solved[0]]
        return (*_along_cycles(coupling.forest, profiles, amounts), True)
    bounded = bound_solution(matrix, left[places])
    if bounded is None:
        return None
    near, bound = bounded
    # near is only a float solution: off by more than this, dependent rows contradict each other
    allowance = max(float(allowed), 2.0**-46 * float(np.abs(left).max()))
    if np.abs(cycles.T @ near - left).max() > 0.5 * allowance:
        return None
    # the exact amounts are not known, but none passes the bound, along every cycle it closes
    gained = _along_cycles(coupling.forest, profiles, [Fraction(bound)] * len(profiles), absolute=True)
    return (*gained, False)


def solve_whole(matrix: IntArray, right: IntArray) -> tuple[list[int], int] | None:
    """Return numerators and one denominator of x with matrix @ x = right; None where the matrix is singular."""
    # the relation of the last column to the others, which has been checked in whole numbers
    profile = rank_profile(Explicit(np.column_stack([matrix, right])), explain=True)
    if profile.relations is None or profile.dependent.tolist() != [len(right)]:
        return None
    *others, denominator = profile.relations[0].tolist()
    return [-value for value in others], denominator


def bound_solution(matrix: IntArray, right: IntArray) -> tuple[FloatArray, float] | None:
    """Return about the solution of matrix @ x = right, and a bound that no entry of the exact one passes.

    With X about the inverse A^-1 and a bound c < 1 of the norm of I - A X, |A^-1| <= |X| / (1 - c) in the norm of the
    largest row sum; c takes in what rounding can do to A X.
    """
    exact: FloatArray = matrix.astype(np.float64)
    try:
        inverse: FloatArray = np.asarray(np.linalg.inv(exact), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    miss = np.abs(np.eye(len(exact)) - exact @ inverse)
    # what rounding can be in a product of so many terms
    miss += 2 * len(exact) * float(np.finfo(np.float64).eps) * (np.abs(exact) @ np.abs(inverse) + 1)
    contraction = float(miss.sum(axis=1).max())
    # also where it is NaN
    if not contraction < 0.5:
        return None
    norm = float(np.abs(inverse).sum(axis=1).max())
    bound = norm / (1 - contraction) * float(np.abs(right).max()) * (1 + 1e-9)
    near: FloatArray = inverse @ right.astype(np.float64)
    return near, bound


def _reaches(cycles: IntArray, solved: tuple[list[int], int], left: IntArray, allowed: Fraction) -> bool:
    """Return whether the amounts give every row what is left to it, up to what is allowed."""
    numerators, denominator = solved
    used = np.flatnonzero(cycles.any(axis=0) | (left != 0))
    reached = cycles[:, used].T.astype(object) @ np.array(numerators, dtype=object)
    wanted = left[used].astype(object) * denominator
    return bool(np.all(np.abs(reached - wanted) <= allowed * denominator))


def _first_basis(cycles: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first independent cycles, which have the largest profiles, and places where these are independent."""
    # independence modulo a prime implies independence, never the reverse: a basis found so is one
    prime = next(primes())
    work: FloatArray = (cycles % prime).astype(np.float64)
    leads = np.empty(len(work), dtype=np.int64)
    echelon_in_place(work, float(prime), leads)
    chosen = np.flatnonzero(leads >= 0)
    return chosen, np.sort(leads[chosen])


def _stable_basis(cycles: IntArray) -> tuple[IntArray, IntArray]:
    """Return independent cycles and places of a matrix that is far from singular."""
    vectors = cycles.astype(np.float64)
    places = _pivots(vectors)
    return _pivots(vectors[:, places].T), places


def _pivots(matrix: FloatArray) -> IntArray:
    """Return independent columns of a matrix of small whole numbers, by pivoted QR."""
    if not matrix.size:
        return np.empty(0, dtype=np.int64)
    triangle, order = run_apart(lambda: qr(matrix, mode="r", pivoting=True, check_finite=False))
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(diagonal > 1e-8 * max(diagonal.max(initial=0.0), 1.0)))
    return np.sort(order[:rank])


def _along_cycles(
    forest: Forest, profiles: IntArray, amounts: Sequence[Fraction], *, absolute: bool = False
) -> tuple[IntArray, tuple[Fraction, ...]]:
    """Return what each profile of the cycles gets when the closing profiles get the amounts; or its absolute sum."""
    gains: dict[int, Fraction] = {}
    for profile, amount in zip(profiles.tolist(), amounts, strict=True):
        if not amount:
            continue
        for member, sign in path_of_cycle(forest, profile):
            gains[member] = gains.get(member, Fraction(0)) + (amount if absolute else sign * amount)
    return np.array(list(gains), dtype=np.int64), tuple(gains.values())


def path_of_cycle(forest: Forest, profile: int) -> Iterator[tuple[int, int]]:
    """Yield the profiles of the cycle that a profile closes, each with its sign."""
    yield profile, 1
    ends = [(int(forest.first[profile]), -1), (forest.first_rows + int(forest.second[profile]), -1)]
    while ends[0][0] != ends[1][0]:
        deeper = 0 if forest.depth[ends[0][0]] >= forest.depth[ends[1][0]] else 1
        node, sign = ends[deeper]
        # from the deeper end up to where both meet; signs alternate, so that every node's sum stays
        yield int(forest.via[node]), sign
        ends[deeper] = (int(forest.parent[node]), -sign)
