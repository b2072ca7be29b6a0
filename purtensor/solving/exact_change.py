"""What a basis adds to a table so that it meets the targets, in whole numbers: where rounding hides small profiles.

A profile that ties parts of a table together may be far below what rounding leaves of the misses of its rows, and then
no bound on the sizes of what is routed through it says that it stays positive. Float64 numbers are whole multiples of
one small unit, so on small problems the misses, and what is routed along the forest, are exact sums of whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.basis import Basis
from purtensor.solving.problem import Problem

MOST_ENTRIES = 20_000
"""Profiles times constraints up to which whole numbers are added up: about 20 ms."""

_MOST_CLOSING = 24
"""Rows beside the forest's up to which a matrix of whole numbers is eliminated exactly."""

_UNIT = 1074
"""All float64 numbers are multiples of 2^-1074."""


def exact_change(
    problem: Problem, basis: Basis, masses: FloatArray, moves: FloatArray
) -> tuple[FloatArray, FloatArray] | None:
    """Return moves of the masses that meet the targets of the basis' rows, and by how much each may be off.

    The moves are those given and what the basis adds, rounded once to float64; the errors, which are that rounding,
    leave no mass below 0. None where the problem is too large, or where a mass would be negative.
    """
    if problem.index.size > MOST_ENTRIES or (basis.closing is not None and len(basis.closing.rows) > _MOST_CLOSING):
        return None
    moved = [_whole(mass) + _whole(move) for mass, move in zip(masses.tolist(), moves.tolist(), strict=True)]
    # in float64 these misses would be what rounding leaves of numbers near 1
    missed = [_whole(target) for target in problem.targets.tolist()]
    for k, rows in enumerate(problem.index):
        begin = problem.system.block(k).start
        for row, mass in zip(rows.tolist(), moved, strict=True):
            missed[begin + row] -= mass
    added = _complete_exactly(problem, basis, missed)
    if added is None:
        return None
    found, rest = moves.copy(), np.zeros_like(moves)
    for profile, change in added.items():
        if moved[profile] + change < 0:
            return None
        exact = _whole(float(moves[profile])) + change
        found[profile] = _round_to_float(exact)
        # what rounding to float64 takes off; rounded up, because it enters a bound
        rest[profile] = _round_up(abs(exact - _whole(float(found[profile]))))
    return found, rest


def _complete_exactly(problem: Problem, basis: Basis, missed: Sequence[int]) -> dict[int, Fraction] | None:
    """Return what each profile of the basis gets, in units of 2^-1074, so that its rows are met exactly."""
    closing = basis.closing
    # routed twice: the forest alone shows what the rows beside it still miss, and that is what the cycles carry
    routed = _route(basis, missed, {})
    if closing is None:
        return routed
    sums = _sums(problem, basis, routed)
    left = [missed[row] - change for row, change in zip(closing.rows.tolist(), sums, strict=True)]
    values = solve_exactly(_cycles(problem, basis), left)
    return None if values is None else _route(basis, missed, dict(zip(closing.profiles.tolist(), values, strict=True)))


def _route(basis: Basis, missed: Sequence[int], closing: dict[int, Fraction]) -> dict[int, Fraction]:
    """Return what meets the misses of the forest's nodes beside these changes of the profiles that close cycles."""
    nodes = [Fraction(missed[row]) for block in basis.forest.blocks for row in range(block.start, block.stop)]
    # the node that is not a row, on which the rows of a single constraint hang
    nodes.append(Fraction(0))
    if basis.closing is not None:
        for column, profile in enumerate(basis.closing.profiles.tolist()):
            for node in basis.closing.nodes[:, column].tolist():
                nodes[node] -= closing.get(profile, 0)
    found = dict(closing)
    forest = basis.forest
    for edge, leaf, other in zip(forest.edge.tolist(), forest.leaf.tolist(), forest.other.tolist(), strict=True):
        # leaves come before the nodes that they hang on, so what a leaf misses is final here
        found[edge] = nodes[leaf]
        nodes[other] -= nodes[leaf]
    return found


def _sums(problem: Problem, basis: Basis, changes: dict[int, Fraction]) -> list[Fraction]:
    """Return what changes of profiles sum to in the rows that the forest leaves."""
    assert basis.closing is not None
    places = {row: n for n, row in enumerate(basis.closing.rows.tolist())}
    found = [Fraction(0)] * len(places)
    for profile, change in changes.items():
        for k in basis.others:
            place = places.get(problem.system.block(k).start + int(problem.index[k][profile]))
            if place is not None:
                found[place] += change
    return found


def _cycles(problem: Problem, basis: Basis) -> list[list[Fraction]]:
    """Return the sums in the rows that the forest leaves, a column for each profile that closes a cycle."""
    assert basis.closing is not None
    none = [0] * problem.system.rows
    # the matrix A of notes/certificate.md, equation 7: unit changes, balanced by the forest
    columns = [
        _sums(problem, basis, _route(basis, none, {profile: Fraction(1)}))
        for profile in basis.closing.profiles.tolist()
    ]
    return [list(row) for row in zip(*columns, strict=True)]


def solve_exactly(matrix: list[list[Fraction]], right: Sequence[Fraction]) -> list[Fraction] | None:
    """Return the solution of a square system by Gauss and Jordan's elimination; None where it is singular."""
    rows = [[*row, Fraction(value)] for row, value in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column]), None)
        if pivot is None:
            return None
        # any pivot but 0 will do: fractions have no rounding to keep small
        rows[column], rows[pivot] = rows[pivot], rows[column]
        head = rows[column]
        rows[column] = [value / head[column] for value in head]
        for r, row in enumerate(rows):
            if r != column and row[column]:
                rows[r] = [value - row[column] * own for value, own in zip(row, rows[column], strict=True)]
    return [row[-1] for row in rows]


def _whole(value: float) -> int:
    """Return a float64 number as a multiple of 2^-1074."""
    numerator, denominator = value.as_integer_ratio()
    # exact, for the denominator is a power of two up to 2^1074
    return (numerator << _UNIT) // denominator


def _round_to_float(value: Fraction | int) -> float:
    """Return the float64 number nearest to a multiple of 2^-1074."""
    return float(Fraction(value) / (1 << _UNIT))


def _round_up(value: Fraction | int) -> float:
    """Return a float64 number that is not less."""
    nearest = _round_to_float(value)
    # float() rounds to nearest, which may be below
    return nearest if _whole(nearest) >= value else math.nextafter(nearest, math.inf)
