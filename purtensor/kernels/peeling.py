"""Peeling a 0-1 matrix: lines with a single one left are pivots, and take their row and column with them."""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def columns_of_rows(index: IntArray, starts: IntArray, alive: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the profiles of every alive row, row by row, and where those of each row begin."""
    begins = np.zeros(alive.size + 1, dtype=np.int64)
    for k in range(index.shape[0]):
        for i in range(index.shape[1]):
            row = starts[k] + index[k, i]
            if alive[row]:
                begins[row + 1] += 1
    for row in range(alive.size):
        begins[row + 1] += begins[row]
    filled = begins[:-1].copy()
    profiles = np.empty(begins[-1], dtype=np.int32)
    for k in range(index.shape[0]):
        for i in range(index.shape[1]):
            row = starts[k] + index[k, i]
            if alive[row]:
                profiles[filled[row]] = i
                filled[row] += 1
    return profiles, begins


@compiled
def peel(
    index: IntArray,
    starts: IntArray,
    profiles: IntArray,
    begins: IntArray,
    alive: BoolArray,
    present: BoolArray,
    pivot_rows: IntArray,
    pivot_profiles: IntArray,
    by_row: BoolArray,
) -> int:
    """Take out pivots until none is left; return how many.

    `alive` (rows) and `present` (profiles) lose what goes. Each pivot is noted in order: its row, its profile, and
    whether the row had but this profile left (else the profile had but this row).
    """
    row_left = np.empty(alive.size, dtype=np.int64)
    for row in range(alive.size):
        row_left[row] = begins[row + 1] - begins[row]
    profile_left = np.zeros(present.size, dtype=np.int64)
    for k in range(index.shape[0]):
        for i in range(present.size):
            if alive[starts[k] + index[k, i]]:
                profile_left[i] += 1
    # negative entries are rows, -1 - row; each line enters at most once with one entry left
    stack = np.empty(alive.size + present.size, dtype=np.int64)
    top = 0
    for i in range(present.size - 1, -1, -1):
        if profile_left[i] == 1:
            stack[top] = i
            top += 1
    for row in range(alive.size):
        if alive[row] and row_left[row] == 1:
            stack[top] = -1 - row
            top += 1
    count = 0
    while top:
        top -= 1
        line = stack[top]
        if line >= 0:
            if not present[line] or profile_left[line] != 1:
                continue
            i = line
            row = -1
            for k in range(index.shape[0]):
                if alive[starts[k] + index[k, i]]:
                    row = starts[k] + index[k, i]
        else:
            row = -1 - line
            if not alive[row] or row_left[row] != 1:
                continue
            i = -1
            for n in range(begins[row], begins[row + 1]):
                if present[profiles[n]]:
                    i = int(profiles[n])
        pivot_rows[count] = row
        pivot_profiles[count] = i
        by_row[count] = line < 0
        count += 1
        alive[row] = False
        present[i] = False
        for k in range(index.shape[0]):
            other = starts[k] + index[k, i]
            if alive[other]:
                row_left[other] -= 1
                if row_left[other] == 1:
                    stack[top] = -1 - other
                    top += 1
        for n in range(begins[row], begins[row + 1]):
            other = int(profiles[n])
            if present[other]:
                profile_left[other] -= 1
                if profile_left[other] == 1:
                    stack[top] = other
                    top += 1
    return count


@compiled
def extend_weights(
    index: IntArray,
    starts: IntArray,
    usable: BoolArray,
    pivot_rows: IntArray,
    pivot_profiles: IntArray,
    by_row: BoolArray,
    weights: IntArray,
    modulus: int,
) -> None:
    """Extend weights that sum to 0 on the profiles that peeling left to all profiles, modulo `modulus`.

    `weights` has one number a row, 0 at all pivots. Each pivot that its row made gets what makes its profile sum to
    0, last pivot first; pivots that their profile made keep 0.
    """
    for n in range(pivot_rows.size - 1, -1, -1):
        if not by_row[n]:
            continue
        total = 0
        for k in range(index.shape[0]):
            row = starts[k] + index[k, pivot_profiles[n]]
            if usable[row]:
                total += weights[row]
        weights[pivot_rows[n]] = -total % modulus
