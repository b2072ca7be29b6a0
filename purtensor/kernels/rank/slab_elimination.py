"""Elimination modulo a prime, and slab by slab: independent rows, and null vectors in whole numbers.

The prime is below 2^22: in float64 sums of 512 products are exact.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def residue_of(value: float, prime: float, inverse: float) -> float:
    """Return the residue 0 .. prime - 1 of a whole number of size up to 2^53 - 2^23; `inverse` is about 1 / prime.

    The quotient may be off by 1 in either direction, where the number is near a multiple of the prime.
    """
    # by the reciprocal: a division of floats would take several times as long
    residue = value - np.floor(value * inverse) * prime
    if residue < 0.0:
        residue += prime
    elif residue >= prime:
        residue -= prime
    return float(residue)


@compiled
def reduce_in_place(values: FloatArray, prime: float) -> None:
    """Replace whole numbers of size up to 2^53 - 2^23 by their residues 0 .. prime - 1."""
    inverse = 1.0 / prime
    rows, columns = values.shape
    for i in range(rows):
        for j in range(columns):
            values[i, j] = residue_of(values[i, j], prime, inverse)


@compiled
def inverse_of(value: int, prime: int) -> int:
    """Return the number whose product with `value` is 1 modulo the prime."""
    r, s = prime, value % prime
    # Euclid's extended algorithm: r is t times the value modulo the prime throughout
    t, u = 0, 1
    while s:
        q = r // s
        r, s = s, r - q * s
        t, u = u, t - q * u
    return t % prime


@compiled
def echelon_in_place(vectors: FloatArray, prime: float, leads: IntArray) -> None:
    """Bring the rows of `vectors` to reduced echelon form and write their leads.

    A lead is the first place where a row is not 0: it has a 1 there and all other rows have 0. Rows that vanish get
    lead -1.
    """
    count, size = vectors.shape
    inverse = 1.0 / prime
    for n in range(count):
        for m in range(n):
            # the leads of earlier rows are cleared from this one, then its own from them: reduced throughout
            if leads[m] >= 0 and vectors[n, leads[m]] != 0.0:
                _subtract(vectors[n], vectors[m], vectors[n, leads[m]], leads[m], prime, inverse)
        lead = -1
        for j in range(size):
            if vectors[n, j] != 0.0:
                lead = j
                break
        leads[n] = lead
        if lead < 0:
            continue
        factor = float(inverse_of(int(vectors[n, lead]), int(prime)))
        for j in range(lead, size):
            vectors[n, j] = residue_of(vectors[n, j] * factor, prime, inverse)
        for m in range(n):
            if leads[m] >= 0 and vectors[m, lead] != 0.0:
                _subtract(vectors[m], vectors[n], vectors[m, lead], lead, prime, inverse)


@compiled
def _subtract(target: FloatArray, source: FloatArray, factor: float, begin: int, prime: float, inverse: float) -> None:
    for j in range(begin, target.size):
        target[j] = residue_of(target[j] - factor * source[j], prime, inverse)


LARGEST_ENTRY = 1000
LARGEST_MULTIPLIER = 60


@compiled
def number_rows(
    begin: int,
    end: int,
    index: IntArray,
    starts: IntArray,
    usable: BoolArray,
    number: IntArray,
    rows: IntArray,
) -> int:
    """Give numbers to the usable rows of the profiles begin .. end - 1; return how many rows these are.

    `number`, -1 everywhere at entry, gets each row's number and `rows` the rows in that order: constraint by
    constraint, ascending.
    """
    count = 0
    for k in range(index.shape[0]):
        first = count
        for i in range(begin, end):
            row = starts[k] + index[k, i]
            if usable[row] and number[row] < 0:
                # marked, so that it is listed once; numbered after sorting
                number[row] = 0
                rows[count] = row
                count += 1
        _sort(rows, first, count)
        for n in range(first, count):
            number[rows[n]] = n
    return count


@compiled
def _sort(values: IntArray, begin: int, end: int) -> None:
    """Sort a part of an array by Shell's method: what is sorted here is short, and numpy's sort compiles for long."""
    gap = 1
    while 3 * gap < end - begin:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            value = values[i]
            j = i
            while j >= begin + gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@compiled
def null_vectors(
    first_slab: int,
    last_slab: int,
    slab_ptr: IntArray,
    inner: IntArray,
    inner_starts: IntArray,
    usable: BoolArray,
    outer: IntArray,
    outer_starts: IntArray,
    places: IntArray,
    prime: int,
    independent: BoolArray,
    vectors: IntArray,
) -> int:
    """Write the null vectors of the slabs first .. last - 1, summed over the outer rows, and mark independent rows.

    `inner` and `outer` hold the rows of every profile in the constraints inside and outside; `places` says which
    place of a vector an outer row has (-1: none). Returns how many vectors there are, or -1 when the entries of one
    are no small whole numbers. Each is checked to vanish on all usable inner rows, in whole numbers.
    """
    number = np.full(usable.size, -1, dtype=np.int64)
    largest = 0
    for x in range(first_slab, last_slab):
        largest = max(largest, slab_ptr[x + 1] - slab_ptr[x])
    rows = np.empty(largest * inner.shape[0], dtype=np.int64)
    total = 0
    for x in range(first_slab, last_slab):
        begin, end = slab_ptr[x], slab_ptr[x + 1]
        count = number_rows(begin, end, inner, inner_starts, usable, number, rows)
        matrix = np.zeros((count, end - begin))
        for i in range(begin, end):
            for k in range(inner.shape[0]):
                n = number[inner_starts[k] + inner[k, i]]
                if n >= 0:
                    matrix[n, i - begin] = 1.0
        leads = np.empty(count, dtype=np.int64)
        echelon_in_place(matrix, float(prime), leads)
        is_lead = np.zeros(end - begin, dtype=np.bool_)
        for n in range(count):
            independent[rows[n]] = leads[n] >= 0
            if leads[n] >= 0:
                is_lead[leads[n]] = True
        weights = np.zeros(end - begin, dtype=np.int64)
        sums = np.zeros(count, dtype=np.int64)
        for free in range(end - begin):
            if is_lead[free]:
                continue
            if not _null_vector(matrix, leads, free, prime, weights):
                return -1
            _add_rows(weights, begin, inner, inner_starts, number, sums)
            for n in range(count):
                # in whole numbers: a vector that vanishes modulo the prime alone would be a wrong proof
                if sums[n] != 0:
                    return -1
            for place in range(vectors.shape[1]):
                vectors[total, place] = 0
            _add_rows(weights, begin, outer, outer_starts, places, vectors[total])
            total += 1
        for n in range(count):
            # only what this slab has set: the array is as long as all rows
            number[rows[n]] = -1
    return total


@compiled
def _add_rows(
    weights: IntArray, begin: int, index: IntArray, starts: IntArray, number: IntArray, sums: IntArray
) -> None:
    """Add the weight of every profile from `begin` on to the sums of its numbered rows."""
    for c in range(weights.size):
        if weights[c] != 0:
            for k in range(index.shape[0]):
                n = number[starts[k] + index[k, begin + c]]
                if n >= 0:
                    sums[n] += weights[c]


@compiled
def _null_vector(matrix: IntArray, leads: IntArray, free: int, prime: int, weights: IntArray) -> bool:
    """Write the null vector of a free column of an echelon form, in small whole numbers; False where it has none."""
    weights[:] = 0
    # entries modulo a prime may be fractions: a small multiple makes them whole
    for multiplier in range(1, LARGEST_MULTIPLIER + 1):
        small = True
        for n in range(leads.size):
            if leads[n] < 0:
                continue
            entry = (int(matrix[n, free]) * multiplier) % prime
            # the residue of smallest size: the null vectors of such slabs have small entries of both signs
            if entry > prime // 2:
                entry -= prime
            if abs(entry) > LARGEST_ENTRY:
                small = False
                break
            weights[leads[n]] = -entry
        if small:
            weights[free] = multiplier
            return True
    return False
