"""Peeling a 0-1 matrix: lines with a single one left are pivots, and take their row and column with them."""

from __future__ import annotations

from purtensor._typing import BoolArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def count_profiles(
    index: IntArray,
    starts: IntArray,
    alive: BoolArray,
    begin: int,
    end: int,
    row_left: IntArray,
    profile_left: IntArray,
) -> None:
    """Count the alive rows of the profiles begin .. end - 1, and add these profiles to the counts of the rows."""
    for k in range(index.shape[0]):
        for i in range(begin, end):
            row = starts[k] + index[k, i]
            if alive[row]:
                row_left[row] += 1
                profile_left[i] += 1


@compiled
def list_profiles(
    index: IntArray, starts: IntArray, alive: BoolArray, begin: int, end: int, filled: IntArray, profiles: IntArray
) -> None:
    """Append the profiles begin .. end - 1 to the lists of their alive rows; `filled` is where each list goes on."""
    for k in range(index.shape[0]):
        for i in range(begin, end):
            row = starts[k] + index[k, i]
            if alive[row]:
                profiles[filled[row]] = i
                filled[row] += 1


@compiled
def peel(
    index: IntArray,
    starts: IntArray,
    profiles: IntArray,
    begins: IntArray,
    alive: BoolArray,
    present: BoolArray,
    row_left: IntArray,
    profile_left: IntArray,
    stack: IntArray,
    top: int,
    pivot_rows: IntArray,
    pivot_profiles: IntArray,
    by_row: BoolArray,
    count: int,
    work: int,
) -> tuple[int, int]:
    """Take out pivots until none is left or so much work is done; return the height of the stack and their number.

    `alive` (rows) and `present` (profiles) lose what goes; `row_left` and `profile_left` count what each line still
    has. The stack holds the lines that have, or had, one entry left: a profile by its number, a row as -1 - row. Each
    pivot is noted in order: its row, its profile, and whether the row (else the profile) stood alone. The profiles of
    row r are `profiles[begins[r] : begins[r + 1]]`.
    """
    while top and work > 0:
        top -= 1
        line = stack[top]
        row, i = -1, -1
        if line >= 0:
            # the stack is not cleared when lines go: what was true when it was pushed may be so no more
            if not present[line] or profile_left[line] != 1:
                continue
            i = line
            for k in range(index.shape[0]):
                if alive[starts[k] + index[k, i]]:
                    row = starts[k] + index[k, i]
        else:
            if not alive[-1 - line] or row_left[-1 - line] != 1:
                continue
            row = -1 - line
            for n in range(begins[row], begins[row + 1]):
                if present[profiles[n]]:
                    i = int(profiles[n])
        # the rank is one more than that of what is left without this row and profile
        pivot_rows[count], pivot_profiles[count], by_row[count] = row, i, line < 0
        count += 1
        alive[row] = False
        present[i] = False
        # so that the caller gets to hear of Ctrl-C in between
        work -= index.shape[0] + begins[row + 1] - begins[row]
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
    return top, count


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
        # a pivot that its profile made keeps the weight of 0 that it has
        if not by_row[n]:
            continue
        total = 0
        for k in range(index.shape[0]):
            row = starts[k] + index[k, pivot_profiles[n]]
            if usable[row]:
                total += weights[row]
        weights[pivot_rows[n]] = -total % modulus
