"""What proves the masses of a dense two-way table: their misses in twice the digits, a basis, and sums over all cells.

Rows are padded with zeros to whole octets, as in `purtensor.kernels.ipf.two_way_sweeps`.
"""

from __future__ import annotations

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.kernels._jit import compiled
from purtensor.kernels.ipf.product_proof import proof_terms
from purtensor.kernels.newton.proof import UNIT
from purtensor.kernels.simd import WIDTH, distance, eight, larger, load, quotient, store


@compiled
def _add_exactly(sums: FloatArray, lost: FloatArray, octet: FloatArray) -> None:
    """Add an octet to sums, and what rounding takes from them to `lost` (Knuth's sum of two)."""
    before = load(sums)
    after = before + octet
    taken = after - before
    store(sums, after)
    store(lost, load(lost) + ((before - (after - taken)) + (octet - taken)))


@compiled
def sum_exactly(
    masses: FloatArray,
    tilts_a: FloatArray,
    tilts_b: FloatArray,
    begin: int,
    end: int,
    of_rows: FloatArray,
    of_columns: FloatArray,
) -> None:
    """Sum p + c, c = p (m_i + m_j) rounded, over the rows begin .. end - 1, each sum as two numbers.

    `of_rows` has shape (rows, 2); `of_columns`, shape (2, columns), gets the sums over these rows.
    """
    of_columns[:] = 0.0
    lanes = np.empty((2, WIDTH))
    for i in range(begin, end):
        lanes[:] = 0.0
        tilt = eight(tilts_a[i])
        for j in range(0, masses.shape[1], WIDTH):
            mass = load(masses[i, j:])
            change = mass * (tilt + load(tilts_b[j:]))
            _add_exactly(lanes[0], lanes[1], mass)
            _add_exactly(lanes[0], lanes[1], change)
            _add_exactly(of_columns[0, j:], of_columns[1, j:], mass)
            _add_exactly(of_columns[0, j:], of_columns[1, j:], change)
        total, lost = lanes[0, 0], lanes[1].sum()
        for n in range(1, WIDTH):
            after = total + lanes[0, n]
            taken = after - total
            lost += (total - (after - taken)) + (lanes[0, n] - taken)
            total = after
        of_rows[i, 0], of_rows[i, 1] = total, lost


@compiled
def heaviest_tree(masses: FloatArray, columns: int, root: int, order: IntArray, parent: IntArray) -> None:
    """Write a heaviest spanning tree of the rows and columns, whose edges are the cells, by Prim's algorithm.

    Columns come after the rows. `order` gets the nodes, each after its parent; the root is its own parent.
    """
    rows = masses.shape[0]
    best, reached = np.full(rows + columns, -1.0), np.zeros(rows + columns, dtype=np.bool_)
    node = root
    parent[root] = root
    for n in range(rows + columns):
        order[n] = node
        reached[node] = True
        if node < rows:
            _reach(masses[node, :columns], node, best[rows:], parent[rows:], reached[rows:])
        else:
            _reach(masses[:, node - rows], node, best[:rows], parent[:rows], reached[:rows])
        heaviest = -1.0
        for other in range(rows + columns):
            if not reached[other] and best[other] > heaviest:
                heaviest, node = best[other], other


@compiled
def _reach(weights: FloatArray, node: int, best: FloatArray, parent: IntArray, reached: BoolArray) -> None:
    for n in range(weights.size):
        if weights[n] > best[n] and not reached[n]:
            best[n] = weights[n]
            parent[n] = node


@compiled
def route(order: IntArray, parent: IntArray, loads: FloatArray) -> None:
    """Add the load of every node to that of its parent, the leaves first: what the edge between them carries."""
    for n in range(order.size - 1, 0, -1):
        loads[parent[order[n]]] += loads[order[n]]


@compiled
def prove_line(
    masses: FloatArray, ones: FloatArray, others: FloatArray, rests: FloatArray, rounding: float, sums: FloatArray
) -> None:
    """Add what cells contribute to the bounds of a certificate to `sums`, shape (5, 8), whose first row is a maximum.

    They are those of `proof_terms`, the rests being bounds of |e|: the largest |w|, bounds of sum p phi(w) and of the
    gap, sum |c|, and sum c.
    """
    for n in range(0, masses.size, WIDTH):
        mass, one, other = load(masses[n:]), load(ones[n:]), load(others[n:])
        apart = quotient(load(rests[n:]), mass, eight(0.0)) * (1.0 + 4.0 * UNIT)
        w, upper, gap, change = proof_terms(mass, one, other, eight(0.0), apart, eight(rounding))
        store(sums[0], larger(w, load(sums[0])))
        store(sums[1], load(sums[1]) + upper)
        store(sums[2], load(sums[2]) + gap)
        store(sums[3], load(sums[3]) + distance(change, eight(0.0)))
        store(sums[4], load(sums[4]) + change)


@compiled
def prove_rows(
    masses: FloatArray,
    tilts_a: FloatArray,
    tilts_b: FloatArray,
    rounding: float,
    begin: int,
    end: int,
    sums: FloatArray,
) -> None:
    """Add what the rows begin .. end - 1 contribute, no rest being on their cells; see `prove_line`."""
    ones, rests = np.empty(masses.shape[1]), np.zeros(masses.shape[1])
    for i in range(begin, end):
        ones[:] = tilts_a[i]
        prove_line(masses[i], ones, tilts_b, rests, rounding, sums)
