"""Where profiles lie in the layouts that sweeps share a pass on: the cells of slabs, and the joint rows of groups."""

from __future__ import annotations

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.simd import WIDTH


@compiled
def place_rows(
    index: IntArray,
    local: IntArray,
    slab_ptr: IntArray,
    first: int,
    targets: FloatArray,
    rows: IntArray,
    placed: FloatArray,
) -> None:
    """Write the rows of a constraint that each slab has, from number `first` on, and their targets."""
    for x in range(slab_ptr.size - 1):
        for n in range(slab_ptr[x], slab_ptr[x + 1]):
            row = index[n]
            # written again by every profile of the row, with the same numbers
            rows[x // WIDTH, local[row], x % WIDTH] = first + row
            placed[x // WIDTH, local[row], x % WIDTH] = targets[row]


@compiled
def place_cells(
    index_a: IntArray, local_a: IntArray, index_b: IntArray, local_b: IntArray, index: IntArray, cell_row: IntArray
) -> bool:
    """Write which row of an outside constraint each cell belongs to; return False where profiles of a cell differ."""
    cell_row[:] = -1
    for n in range(index.size):
        i, j = local_a[index_a[n]], local_b[index_b[n]]
        # the first profile of a cell decides; any other one must agree
        if cell_row[i, j] == -1:
            cell_row[i, j] = index[n]
        if cell_row[i, j] != index[n]:
            return False
    return True


@compiled
def find_pattern(row: IntArray, pattern: IntArray) -> bool:
    """Write for each row the rows of the eight profiles that it begins; return False where two such eight differ."""
    pattern[:] = -1
    for start in range(0, row.size, WIDTH):
        # the row that an eight begins with names its pattern
        known = pattern[row[start]]
        if known[0] == -1:
            for lane in range(WIDTH):
                known[lane] = row[start + lane]
        for lane in range(WIDTH):
            if known[lane] != row[start + lane]:
                return False
    return True


@compiled
def join_codes(joint: IntArray, count: int, code: IntArray, size: int, largest: int, number: IntArray) -> int:
    """Return how many pairs of a joint row (of `count`) and a code (of `size`) occur, -1 if more than `largest`.

    `number` gets the number of each pair, or -1; numbers ascend with the pairs.
    """
    number[: count * size] = -1
    found = 0
    for n in range(joint.size):
        # in the order of the pairs, so that numbers ascend as joint rows do
        pair = joint[n] * size + code[n]
        if number[pair] == -1:
            number[pair] = 0
            found += 1
            if found > largest:
                return -1
    found = 0
    # numbered by a pass over the pairs: in the order of the profiles they would depend on these
    for pair in range(count * size):
        if number[pair] == 0:
            number[pair] = found
            found += 1
    return found


@compiled
def replace_joint(joint: IntArray, code: IntArray, size: int, number: IntArray) -> None:
    """Replace each joint row by the number of its pair with the code."""
    for n in range(joint.size):
        joint[n] = number[joint[n] * size + code[n]]
