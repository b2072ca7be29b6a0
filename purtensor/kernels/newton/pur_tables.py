"""P, PU and PUR of many small tables whose profiles lie in one union, certificates included, in compiled code.

A table is a matrix over the union's predictor profiles (s, x), which lie slab by slab of x, and the responses y; where
it is zero it has no profile. Supports are full in y: what is observed with one response is supported with all that the
table has. Rows are numbered over the union: first (s, x), then (y, x), then (y, s); those without mass
are inert, and so are those of conditions that are not stated: whatever is summed there is their target.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled


@compiled
def sum_pur_rows(masses: FloatArray, protected: IntArray, slab: IntArray, sums: FloatArray) -> None:
    """Write the sums over (s, x), over (y, x) and over (y, s) of a matrix into `sums`, in that order."""
    rows, responses = masses.shape
    slabs = slab[-1] + 1
    groups = (sums.size - rows) // responses - slabs
    sums[:] = 0.0
    of_x = sums[rows : rows + slabs * responses].reshape(slabs, responses)
    of_s = sums[rows + slabs * responses :].reshape(groups, responses)
    for r in range(rows):
        x, s = slab[r], protected[r]
        total = 0.0
        for y in range(responses):
            mass = masses[r, y]
            total += mass
            of_x[x, y] += mass
            of_s[s, y] += mass
        sums[r] = total


@compiled
def set_pur_targets(data: FloatArray, protected: IntArray, slab: IntArray, groups: int, targets: FloatArray) -> float:
    """Write f(s, x), f(y, x) and f(y) f(s) / f of the data into `targets`; return the total f.

    Sums that enter products are compensated: targets that disagree by more than rounding leave nothing to prove.
    """
    rows, responses = data.shape
    sum_pur_rows(data, protected, slab, targets)
    of_y = np.zeros(responses)
    lost_y = np.zeros(responses)
    of_s = np.zeros(groups)
    lost_s = np.zeros(groups)
    for r in range(rows):
        s = protected[r]
        for y in range(responses):
            value = data[r, y]
            before = of_y[y]
            of_y[y] = before + value
            lost_y[y] += (before - of_y[y]) + value if before >= value else (value - of_y[y]) + before
            before = of_s[s]
            of_s[s] = before + value
            lost_s[s] += (before - of_s[s]) + value if before >= value else (value - of_s[s]) + before
    total = 0.0
    for y in range(responses):
        of_y[y] += lost_y[y]
        total += of_y[y]
    at = targets.size - groups * responses
    for s in range(groups):
        for y in range(responses):
            targets[at] = of_y[y] / total * (of_s[s] + lost_s[s])
            at += 1
    return total


@compiled
def coupling_cells(
    masses: FloatArray, protected: IntArray, slab: IntArray, groups: int, first: int, utility: bool, realism: bool
) -> IntArray:
    """Return the cells (s, y) whose parity rows are independent of all others, as s * responses + y.

    With utility they are those of every s but one of each set of s that some slabs tie together, with realism those of
    every response but the first that has mass (notes/independence.md).
    """
    rows, responses = masses.shape
    root = np.arange(groups)
    seen = np.zeros(groups, dtype=np.int64)
    before = -1
    for r in range(rows):
        if masses[r, first] > 0.0:
            s = protected[r]
            seen[s] = 1
            if before >= 0 and slab[before] == slab[r]:
                one, other = protected[before], s
                while root[one] != one:
                    one = root[one]
                while root[other] != other:
                    other = root[other]
                root[max(one, other)] = min(one, other)
            before = r
    present = np.zeros(responses, dtype=np.int64)
    for r in range(rows):
        for y in range(responses):
            if masses[r, y] > 0.0:
                present[y] = 1
    cells = np.empty(groups * responses, dtype=np.int64)
    count = 0
    for s in range(groups):
        if seen[s] == 1 and (root[s] != s or not utility):
            for y in range(responses):
                if present[y] == 1 and (y != first or not realism):
                    cells[count] = s * responses + y
                    count += 1
    return cells[:count]


@compiled
def first_response(masses: FloatArray) -> int:
    """Return the first response with mass; -1 where a profile of the support lacks a response that another has."""
    rows, responses = masses.shape
    pattern = np.zeros(responses, dtype=np.int64)
    known = False
    for r in range(rows):
        any_mass = False
        for y in range(responses):
            any_mass = any_mass or masses[r, y] > 0.0
        if not any_mass:
            continue
        for y in range(responses):
            has = 1 if masses[r, y] > 0.0 else 0
            if known and pattern[y] != has:
                return -1
            pattern[y] = has
        known = True
    for y in range(responses):
        if pattern[y] == 1:
            return y
    return -1


@compiled
def spread_pur(potentials: FloatArray, protected: IntArray, slab: IntArray, out: FloatArray) -> None:
    """Write C^T potentials into the matrix `out`."""
    rows, responses = out.shape
    slabs = slab[-1] + 1
    groups = (potentials.size - rows) // responses - slabs
    of_x = potentials[rows : rows + slabs * responses].reshape(slabs, responses)
    of_s = potentials[rows + slabs * responses :].reshape(groups, responses)
    for r in range(rows):
        x, s = slab[r], protected[r]
        own = potentials[r]
        for y in range(responses):
            out[r, y] = own + of_x[x, y] + of_s[s, y]


@compiled
def sweep_pur(
    masses: FloatArray,
    targets: FloatArray,
    protected: IntArray,
    slab: IntArray,
    utility: bool,
    realism: bool,
    sums: FloatArray,
    potentials: FloatArray,
) -> None:
    """Make one sweep of iterative proportional fitting: (y, s), with utility then (y, x), with realism then (s, x)."""
    rows, responses = masses.shape
    size = sums.size
    slabs = slab[-1] + 1
    groups = (size - rows) // responses - slabs
    at_x = rows
    at_s = rows + slabs * responses
    sum_pur_rows(masses, protected, slab, sums)
    for n in range(at_s, size):
        sums[n] = targets[n] / sums[n] if sums[n] > 0.0 else 1.0
        potentials[n] += np.log(sums[n])
    of_x = sums[at_x:at_s].reshape(slabs, responses)
    of_s = sums[at_s:].reshape(groups, responses)
    of_x[:] = 0.0
    for r in range(rows):
        for y in range(responses):
            masses[r, y] *= of_s[protected[r], y]
            of_x[slab[r], y] += masses[r, y]
    for n in range(at_x, at_s):
        sums[n] = targets[n] / sums[n] if sums[n] > 0.0 and utility else 1.0
        potentials[n] += np.log(sums[n])
    for r in range(rows):
        total = 0.0
        for y in range(responses):
            masses[r, y] *= of_x[slab[r], y]
            total += masses[r, y]
        factor = targets[r] / total if total > 0.0 and realism else 1.0
        potentials[r] += np.log(factor)
        for y in range(responses):
            masses[r, y] *= factor


@compiled
def leave_unstated(sums: FloatArray, targets: FloatArray, rows: int, middle: int, utility: bool, realism: bool) -> None:
    """Write the targets over the sums of the rows (s, x) and of the `middle` rows (y, x) that are not stated."""
    if not realism:
        sums[:rows] = targets[:rows]
    if not utility:
        sums[rows : rows + middle] = targets[rows : rows + middle]
