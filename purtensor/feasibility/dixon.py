"""Square linear systems in whole numbers, solved exactly by lifting a solution modulo a prime (J. D. Dixon, 1982)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray, IntArray

# products of two residues stay below 2^62, within int64
_PRIME = 2**31 - 1
_EPS = float(np.finfo(np.float64).eps)


def solve_whole(matrix: IntArray, right: Sequence[int]) -> tuple[list[int], int] | None:
    """Return numerators and one denominator of x with matrix @ x = right; None where the matrix is singular.

    The entries of the matrix are small. (A matrix that is singular modulo the prime alone is refused as well.)
    """
    size = len(right)
    if size == 0:
        return [], 1
    inverse = _inverse(matrix % _PRIME)
    if inverse is None:
        return None
    whole = matrix.astype(object)
    rest = np.array(right, dtype=object)
    digits = np.zeros(size, dtype=object)
    modulus = 1
    most = _bound(matrix, right)
    attempt = 4
    for step in range(1, 1 << 30):
        residue = (rest % _PRIME).astype(np.int64)
        digit = _product(inverse, residue)
        # the solution in base p, lowest digit first: what is left is divisible by p
        digits += digit.astype(object) * modulus
        modulus *= _PRIME
        # exact, and its size stays bounded, so every digit costs the same
        rest = (rest - whole @ digit.astype(object)) // _PRIME
        # tried at 4, 8, 16, ... digits, since solutions are mostly far simpler than Hadamard's bound
        if step == attempt or modulus > most:
            found = _fractions(digits.tolist(), modulus)
            # fractions read off too early may be wrong: they are put into the equations
            if found is not None and _holds(whole, found, right):
                return found
            if modulus > most:
                return None
            attempt *= 2
    return None  # pragma: no cover


def bounded_solution(matrix: IntArray, right: IntArray) -> tuple[FloatArray, float] | None:
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
    miss += 2 * len(exact) * _EPS * (np.abs(exact) @ np.abs(inverse) + 1)
    contraction = float(miss.sum(axis=1).max())
    # also where it is NaN
    if not contraction < 0.5:
        return None
    norm = float(np.abs(inverse).sum(axis=1).max())
    bound = norm / (1 - contraction) * float(np.abs(right).max()) * (1 + 1e-9)
    near: FloatArray = inverse @ right.astype(np.float64)
    return near, bound


def _inverse(matrix: IntArray) -> IntArray | None:
    """Return the inverse modulo the prime, by Gauss and Jordan."""
    size = len(matrix)
    work = np.hstack([matrix.astype(np.int64), np.eye(size, dtype=np.int64)])
    for k in range(size):
        candidates = np.flatnonzero(work[k:, k])
        if not len(candidates):
            return None
        pivot = k + int(candidates[0])
        work[[k, pivot]] = work[[pivot, k]]
        # any pivot that is not 0 will do: there is no rounding modulo a prime
        work[k] = work[k] * pow(int(work[k, k]), -1, _PRIME) % _PRIME
        rows = np.flatnonzero(work[:, k])
        rows = rows[rows != k]
        work[rows] = (work[rows] - work[rows, k][:, None] * work[k] % _PRIME) % _PRIME
    return work[:, size:]


def _product(matrix: IntArray, vector: IntArray) -> IntArray:
    """Return matrix @ vector modulo the prime; each product is reduced before it is added."""
    products: IntArray = (matrix * vector % _PRIME).sum(axis=1)
    return products % _PRIME


def _bound(matrix: IntArray, right: Sequence[int]) -> int:
    """Return a modulus that distinguishes all fractions that the solution can have, by Hadamard."""
    squares = [sum(int(x) ** 2 for x in row) for row in matrix]
    # the product of the rows' lengths bounds the determinant and its minors, and so what Cramer's rule gives
    determinant = math.isqrt(math.prod(max(s, 1) for s in squares)) + 1
    largest = max(map(abs, right))
    return 8 * (determinant * (largest + 1) * len(squares)) ** 2


def _fractions(residues: Sequence[int], modulus: int) -> tuple[list[int], int] | None:
    """Return numerators over a common denominator with the given residues."""
    denominator = 1
    for value in residues:
        # times the denominator so far: later entries mostly share it and cost one step
        found = _denominator(value * denominator % modulus, modulus)
        if found is None:
            return None
        denominator *= found
    half = modulus // 2
    # residues in (-m/2, m/2]: numerators may be negative
    return [(value * denominator + half) % modulus - half for value in residues], denominator


def _denominator(value: int, modulus: int) -> int | None:
    bound = math.isqrt(modulus // 2)
    r, s, t, u = modulus, value, 0, 1
    # Euclid's algorithm stopped half way: s / u has this residue, both below the bound (P. S. Wang, 1981)
    while s > bound:
        q = r // s
        r, s, t, u = s, r - q * s, u, t - q * u
    return abs(u) if 0 < abs(u) <= bound else None


def _holds(matrix: IntArray, found: tuple[list[int], int], right: Sequence[int]) -> bool:
    numerators = np.array(found[0], dtype=object)
    return bool(np.array_equal(matrix @ numerators, np.array([value * found[1] for value in right], dtype=object)))
