"""Newton's equations of small tables without realism, and the factor of small symmetric matrices.

Rows and tables are as in purtensor.kernels.newton.pur_tables.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled

_FLOOR = 1e-13
"""A pivot below this share of its diagonal is rounding."""


@compiled
def assemble_apart(
    masses: FloatArray,
    protected: IntArray,
    slab: IntArray,
    utility: bool,
    right: FloatArray,
    place: IntArray,
    matrix: FloatArray,
    side: FloatArray,
) -> None:
    """Write Newton's equations without realism, in which no two responses meet, for the (y, s) rows alone.

    With utility the (y, x) rows are eliminated, whose part of the Hessian is diagonal. `place` has the number of the
    equation of each cell s * responses + y, -1 for one that has none.
    """
    rows, responses = masses.shape
    of_x = np.empty(responses)
    at_s = right.size - place.size
    matrix[:] = 0.0
    for n in range(place.size):
        if place[n] >= 0:
            side[place[n]] = right[at_s + n]
    begin = 0
    while begin < rows:
        end = begin
        of_x[:] = 0.0
        while end < rows and slab[end] == slab[begin]:
            for y in range(responses):
                of_x[y] += masses[end, y]
            end += 1
        at_x = rows + slab[begin] * responses
        for r in range(begin, end):
            for y in range(responses):
                n = place[protected[r] * responses + y]
                mass = masses[r, y]
                if n < 0 or mass == 0.0:
                    continue
                matrix[n, n] += mass
                if not utility:
                    continue
                share = mass / of_x[y]
                side[n] -= share * right[at_x + y]
                for other in range(begin, end):
                    m = place[protected[other] * responses + y]
                    if m >= 0:
                        matrix[n, m] -= share * masses[other, y]
        begin = end


@compiled
def substitute_apart(
    masses: FloatArray, protected: IntArray, slab: IntArray, right: FloatArray, direction: FloatArray
) -> None:
    """Write the direction's (y, x) rows, given its (y, s) rows."""
    rows, responses = masses.shape
    slabs = slab[-1] + 1
    of_x = np.zeros((slabs, responses))
    left = right[rows : rows + slabs * responses].reshape(slabs, responses).copy()
    of_s = direction[rows + slabs * responses :].reshape(-1, responses)
    for r in range(rows):
        for y in range(responses):
            of_x[slab[r], y] += masses[r, y]
            left[slab[r], y] -= masses[r, y] * of_s[protected[r], y]
    for x in range(slabs):
        for y in range(responses):
            direction[rows + x * responses + y] = left[x, y] / of_x[x, y] if of_x[x, y] > 0.0 else 0.0


@compiled
def factorize_scaled(matrix: FloatArray, scale: FloatArray) -> None:
    """Replace the upper triangle of a matrix, scaled to a unit diagonal, by its Cholesky factor U, U^T U.

    `scale` gets the scaling; it is 0, and the row left out, where a pivot is rounding.
    """
    size = scale.size
    for i in range(size):
        scale[i] = 1.0 / np.sqrt(matrix[i, i]) if matrix[i, i] > 0.0 else 0.0
    for i in range(size):
        for j in range(i, size):
            matrix[i, j] *= scale[i] * scale[j]
    for i in range(size):
        pivot = matrix[i, i]
        for k in range(i):
            pivot -= matrix[k, i] * matrix[k, i]
        if not pivot > _FLOOR:
            scale[i] = 0.0
            matrix[i, i:] = 0.0
            matrix[i, i] = 1.0
            continue
        root = np.sqrt(pivot)
        matrix[i, i] = root
        for k in range(i):
            if matrix[k, i] != 0.0:
                for j in range(i + 1, size):
                    matrix[i, j] -= matrix[k, i] * matrix[k, j]
        for j in range(i + 1, size):
            matrix[i, j] /= root


@compiled
def solve_scaled(matrix: FloatArray, scale: FloatArray, vector: FloatArray) -> None:
    """Replace the vector by the solution, given the factor; it is 0 on the rows that were left out."""
    size = scale.size
    for i in range(size):
        value = vector[i] * scale[i]
        for k in range(i):
            value -= matrix[k, i] * vector[k]
        vector[i] = value / matrix[i, i] if scale[i] > 0.0 else 0.0
    for i in range(size - 1, -1, -1):
        value = vector[i]
        for j in range(i + 1, size):
            value -= matrix[i, j] * vector[j]
        vector[i] = value / matrix[i, i]
    for i in range(size):
        vector[i] *= scale[i]
