"""Sweeps of iterative proportional fitting in which several constraints share a pass over the masses.

Neighbours in the order form a group whose joint rows, its cells, are few. Their steps are done one after the other on
the table of the cells' sums; then one pass scales every mass by the factor of its cell and adds it to its cell of the
next group. The iterates are those of one pass a constraint (notes/ipf.md, equation 6).

Where every eight neighbouring profiles fall into rows that the first of them tells, as in dense tables whose last
categories number a multiple of eight, such eight are a unit: a cell has eight lanes, and a pass works on octets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from purtensor._typing import FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.elementary import scale_by_exp
from purtensor.kernels.ipf.steps import add_singles, miss, scale_and_add_singles
from purtensor.kernels.simd import WIDTH, load, store


class Groups(NamedTuple):
    """The groups of constraints in the order of a sweep, G in all, on units of one or eight profiles.

    Attributes
    ----------
    code
        Shape (G, units): the joint row of each unit.
    sizes
        Shape (G,): how many joint rows there are.
    lanes
        Shape (G,): how many cells a joint row has: 8 where the rows of a unit differ, else 1.
    step_ptr, steps
        Where the steps of each group begin, shape (G + 1,), and the constraint of each.
    row_ptr, rows
        Where the rows of a step's cells begin, and for each cell its row within the constraint.
    copies
        Shape (G,): in how many copies the sums of a group are kept, for units of one.
    """

    code: IntArray
    sizes: IntArray
    lanes: IntArray
    step_ptr: IntArray
    steps: IntArray
    row_ptr: IntArray
    rows: IntArray
    copies: IntArray


@compiled
def add_octets(masses: FloatArray, code: IntArray, begin: int, end: int, sums: FloatArray) -> None:
    """Add the units begin .. end - 1 to the sums of their cells, shape (joint rows, 8)."""
    # neighbours mostly share a cell: its sum is loaded and stored only where the cell changes
    current = code[begin]
    own = load(sums[current])
    for n in range(begin, end):
        if code[n] != current:
            store(sums[current], own)
            current = code[n]
            own = load(sums[current])
        own = own + load(masses[n])
    store(sums[current], own)


@compiled
def scale_and_add_octets(
    masses: FloatArray, code: IntArray, factors: FloatArray, next_code: IntArray, begin: int, end: int, sums: FloatArray
) -> None:
    """Scale the units begin .. end - 1 by the factors of their cells and add them to those of the next group.

    The sums of a cell stay in a register until a unit of another cell comes.
    """
    current = next_code[begin]
    own = load(sums[current])
    for n in range(begin, end):
        # one read and one write of the masses for a whole group of constraints
        octet = load(masses[n]) * load(factors[code[n]])
        store(masses[n], octet)
        if next_code[n] != current:
            store(sums[current], own)
            current = next_code[n]
            own = load(sums[current])
        own = own + octet
    store(sums[current], own)


@compiled
def fit_group(
    groups: Groups,
    g: int,
    targets: FloatArray,
    offsets: IntArray,
    table: FloatArray,
    factors: FloatArray,
    factor: FloatArray,
    u: FloatArray,
) -> None:
    """Do the steps of a group on the sums of its cells; write the factors of cells and rows, and take those into `u`.

    Rows without mass keep their factor 1: no potential can serve them.
    """
    cells = groups.sizes[g] * groups.lanes[g]
    # the table stays what the masses would sum to: each step scales it as the pass will scale them
    factors[:cells] = 1.0
    for s in range(groups.step_ptr[g], groups.step_ptr[g + 1]):
        rows = groups.rows[groups.row_ptr[s] : groups.row_ptr[s + 1]]
        k = groups.steps[s]
        own = factor[offsets[k] : offsets[k + 1]]
        total = u[offsets[k] : offsets[k + 1]]
        target = targets[offsets[k] : offsets[k + 1]]
        own[:] = 0.0
        for c in range(cells):
            # cell by cell in their order: the bits do not depend on how the pass was divided
            own[rows[c]] += table[c]
        for r in range(own.size):
            own[r] = target[r] / own[r] if own[r] > 0.0 else 1.0
            total[r] *= own[r]
        for c in range(cells):
            table[c] *= own[rows[c]]
            factors[c] *= own[rows[c]]


@compiled
def group_misses(
    groups: Groups, g: int, targets: FloatArray, offsets: IntArray, table: FloatArray
) -> tuple[float, float]:
    """Return the largest miss of a target and the L1 miss of the worst constraint of a group, of its cells' sums."""
    residual = 0.0
    residual_l1 = 0.0
    for s in range(groups.step_ptr[g], groups.step_ptr[g + 1]):
        rows = groups.rows[groups.row_ptr[s] : groups.row_ptr[s + 1]]
        k = groups.steps[s]
        sums = np.zeros(offsets[k + 1] - offsets[k])
        for c in range(rows.size):
            sums[rows[c]] += table[c]
        largest, total = miss(sums, targets[offsets[k] : offsets[k + 1]])
        # the worst of the others says nothing once one is not finite
        if np.isnan(total):
            return np.nan, np.nan
        residual = max(residual, largest)
        residual_l1 = max(residual_l1, total)
    return residual, residual_l1


@compiled
def _spread(values: FloatArray, size: int, lanes: int) -> FloatArray:
    """Return the values of cells in shape (joint rows, 8), alike in all lanes where a joint row is one cell."""
    spread = np.empty((size, WIDTH))
    for joint in range(size):
        for lane in range(WIDTH):
            # lanes is 8 or 1: with 1 the same value goes to all lanes
            spread[joint, lane] = values[joint * lanes + lane % lanes]
    return spread


@compiled
def _gather(sums: FloatArray, lanes: int, table: FloatArray) -> None:
    """Write the sums of cells from shape (joint rows, 8), added over the lanes where a joint row is one cell."""
    for joint in range(sums.shape[0]):
        if lanes == 1:
            table[joint] = sums[joint].sum()
        else:
            table[joint * WIDTH : (joint + 1) * WIDTH] = sums[joint]


@compiled
def sum_group(groups: Groups, g: int, masses: FloatArray, begin: int, end: int, table: FloatArray) -> None:
    """Write the sums of a group's cells over the units begin .. end - 1; `masses` has a row a unit."""
    if masses.shape[1] == WIDTH:
        octets = np.zeros((groups.sizes[g], WIDTH))
        add_octets(masses, groups.code[g], begin, end, octets)
        _gather(octets, groups.lanes[g], table)
    else:
        # added over the copies in their order, whatever the number of threads
        sums = np.zeros((groups.copies[g], groups.sizes[g]))
        add_singles(masses.reshape(-1), groups.code[g], begin, end, sums)
        table[: sums.shape[1]] = sums.sum(axis=0)


@compiled
def pass_over_units(
    groups: Groups, g: int, masses: FloatArray, factors: FloatArray, begin: int, end: int, table: FloatArray
) -> None:
    """Scale the units begin .. end - 1 by the factors of a group's cells; write the sums of the next group's."""
    # the last group sums for the first of the next sweep
    following = (g + 1) % groups.sizes.size
    code, next_code = groups.code[g], groups.code[following]
    if masses.shape[1] == WIDTH:
        octets = np.zeros((groups.sizes[following], WIDTH))
        scale_and_add_octets(
            masses, code, _spread(factors, groups.sizes[g], groups.lanes[g]), next_code, begin, end, octets
        )
        _gather(octets, groups.lanes[following], table)
    else:
        sums = np.zeros((groups.copies[following], groups.sizes[following]))
        scale_and_add_singles(masses.reshape(-1), code, factors, next_code, begin, end, sums)
        table[: sums.shape[1]] = sums.sum(axis=0)


@compiled
def sweep_over_units(
    groups: Groups,
    targets: FloatArray,
    offsets: IntArray,
    masses: FloatArray,
    table: FloatArray,
    factors: FloatArray,
    factor: FloatArray,
    u: FloatArray,
) -> None:
    """Make one sweep; `table` holds the sums of the first group's cells before and after."""
    for g in range(groups.sizes.size):
        fit_group(groups, g, targets, offsets, table, factors, factor, u)
        pass_over_units(groups, g, masses, factors, 0, masses.shape[0], table)


@compiled
def _add_exponents(groups: Groups, g: int, values: FloatArray, begin: int, end: int, exponents: FloatArray) -> None:
    """Add the values of a group's cells to the exponents of the units begin .. end - 1."""
    code = groups.code[g]
    if exponents.shape[1] == WIDTH:
        octets = _spread(values, groups.sizes[g], groups.lanes[g])
        for n in range(begin, end):
            store(exponents[n], load(exponents[n]) + load(octets[code[n]]))
    else:
        for n in range(begin, end):
            exponents[n, 0] += values[code[n]]


@compiled
def rebuild_units(
    groups: Groups, reference: FloatArray, offsets: IntArray, t: FloatArray, begin: int, end: int, masses: FloatArray
) -> None:
    """Write reference * exp(C^T t) into the units begin .. end - 1; both arrays of masses have a row a unit."""
    # exponents first, in the place of the masses: no array beside them is needed
    masses[begin:end] = 0.0
    for g in range(groups.sizes.size):
        values = np.zeros(groups.sizes[g] * groups.lanes[g])
        for s in range(groups.step_ptr[g], groups.step_ptr[g + 1]):
            rows = groups.rows[groups.row_ptr[s] : groups.row_ptr[s + 1]]
            part = t[offsets[groups.steps[s]] : offsets[groups.steps[s] + 1]]
            for c in range(values.size):
                values[c] += part[rows[c]]
        _add_exponents(groups, g, values, begin, end, masses)
    scale_by_exp(reference[begin:end].reshape(-1), masses[begin:end].reshape(-1))
