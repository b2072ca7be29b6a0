"""Arithmetic modulo a prime below 2^22, in float64, where sums of 512 products are exact."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def residue_of(value: float, prime: float, inverse: float) -> float:
    """Return the residue 0 .. prime - 1 of a whole number of size up to 2^53 - 2^23; `inverse` is about 1 / prime.

    The quotient may be off by 1 in either direction, where the number is near a multiple of the prime.
    """
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
