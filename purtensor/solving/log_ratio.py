"""A proved bound on the largest |log(q / p)|, q being the exact projection: what rare profiles and odds ratios need.

With z = log(q / p) in the row space, w Newton's direction and Pi the projection on the row space in the norm of p,
z = w - Pi (exp(z) - 1 - z); so a bound L on the norm of Pi in the largest entry bounds z (notes/log_ratio.md).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse import csgraph

from purtensor._typing import FloatArray, IntArray
from purtensor.constraints.rank.independence import constraint_order
from purtensor.kernels.rank.heaviest_forest import reach
from purtensor.solving.basis import UNIT, UPWARD, Basis
from purtensor.solving.certificate import changes
from purtensor.solving.iterate import Iterate, on_profiles
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.newton import best_step
from purtensor.solving.spaces.array_proof import rounding_weights
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.spaces.space import NEGLIGIBLE

_MOST_ENTRIES = 20_000_000
"""Of profiles times rows beside the graph's, which are held in a dense array."""

_MOST_STEPS = 8
_NOTHING = float("inf")


def log_ratio_bound(space: ArraySpace, point: Iterate, steps: int = _MOST_STEPS) -> float:
    """Return a bound on max |log(q / p)| over the profiles, nats; inf where none is proved.

    Where the threshold of the proof is not met at the point, Newton's steps continue from it, at most `steps`, and how
    far they went is added.
    """
    start, went = point, 0.0
    for _ in range(steps + 1):
        found = _bound_at(space, point)
        if found < _NOTHING:
            return (found + went) * UPWARD
        moved = best_step(space, point, space.residual(point).l1)
        if moved is None:
            return _NOTHING
        point = moved[0]
        went = _measure_change(space.problem, point.potentials - start.potentials, point.potentials, start.potentials)
    return _NOTHING


def _measure_change(problem: Problem, potentials: FloatArray, one: FloatArray, other: FloatArray) -> float:
    """Return the largest |C^T potentials|, a difference of two points' potentials, and what rounding can be in it."""
    sizes = on_profiles(problem.system, np.abs(one) + np.abs(other))
    return float(
        (np.abs(on_profiles(problem.system, potentials)) + 2 * (len(problem.index) + 4) * UNIT * (sizes + 1.0)).max()
    )


def _bound_at(space: ArraySpace, point: Iterate) -> float:
    problem, p = space.problem, point.masses
    basis = space.heaviest(point)
    # where p is 0 and q is not, log(q / p) has no bound
    if basis is None or not (p > 0.0).all():
        return _NOTHING
    made = changes(space, point, 0.0)
    if not made:
        return _NOTHING
    met, rest = space.meet(basis, made[-1])
    if not met.left <= NEGLIGIBLE * space.total:
        return _NOTHING
    constraints = len(problem.index)
    # the share r by which masses may be off their family (notes/certificate.md, under "Rounding of the masses")
    own = UNIT * (5.0 + on_profiles(problem.system, rounding_weights(problem, p, point.potentials)))
    # w is what the potentials say, v what the feasible point really moves
    w, v = on_profiles(problem.system, met.potentials), met.moves / p
    sizes = on_profiles(problem.system, np.abs(met.potentials))
    # what Newton's direction of the exact masses differs by from C^T m, m as it was computed, before Pi is applied
    off = np.abs(v - w) + rest / p + 8.0 * UNIT * (constraints * sizes + np.abs(v)) + 2.0 * own * (1.0 + np.abs(v))
    largest, most = float(np.abs(w).max()) + 4.0 * UNIT * constraints * float(sizes.max()), float(off.max())
    rounding = float(own.max())
    norm = projection_norm(problem, basis, p, rounding)
    return _least_root((largest + norm * most) * UPWARD, norm) + 1.01 * rounding


def _least_root(size: float, norm: float) -> float:
    """Return no less than the least Z with Z - norm (exp(Z) - 1 - Z) >= size; inf where there is none."""
    if not (size < _NOTHING and norm < 1e6):
        return _NOTHING

    def reaches(z: float) -> bool:
        # lowered by more than its rounding, so that the root is never too small
        return z * (1.0 - 1e-14 * (1.0 + norm)) - norm * (math.expm1(z) - z) >= size

    # Z - norm (exp(Z) - 1 - Z) grows up to here and falls beyond, so the least root lies below
    low, high = 0.0, math.log1p(1.0 / norm)
    if not reaches(high):
        return _NOTHING
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if reaches(middle) else (middle, high)
        if high - low <= 1e-12 * high:
            break
    return high


class _Graph(NamedTuple):
    """The rows of two constraints, C_N, sparse over the nodes; those that are not left out; the bound of paths."""

    matrix: sp.csr_array
    kept: IntArray
    norm: float


def projection_norm(problem: Problem, basis: Basis, masses: FloatArray, rounding: float) -> float:
    """Return no less than the norm of the projection on the row space, from largest entry to largest entry.

    It holds for all masses within a share `rounding` of these.
    """
    graph = _graph(problem, basis)
    if basis.closing is None:
        return graph.norm
    rows = basis.closing.rows
    if len(masses) * len(rows) > _MOST_ENTRIES or len(rows) ** 2 * len(masses) > 100 * _MOST_ENTRIES:
        return _NOTHING
    others = _rows_of(problem, rows)
    with np.errstate(all="ignore"):
        more = _norm_beside(graph, others, basis, masses, rounding)
    # notes/log_ratio.md, equation 4
    return float((graph.norm + (1.0 + graph.norm) * more) * UPWARD) if more < _NOTHING else _NOTHING


def _norm_beside(graph: _Graph, others: sp.csr_array, basis: Basis, p: FloatArray, rounding: float) -> float:
    """Return a bound on the row sums of |H S^-1 D|, H = (1 - Pi_N) C_R^T, S = C_R P H, D = diag(C_R p)."""
    nodes, own = graph.matrix, graph.matrix[graph.kept]
    count, degree = others.shape[0], 4.0 + float(np.diff(graph.matrix.indptr).max(initial=1))
    weighted = sp.diags_array(p)
    try:
        factor = spla.splu(sp.csc_array(own @ weighted @ own.T))
    except RuntimeError:
        return _NOTHING
    right = np.asarray((own @ weighted @ others.T).toarray())
    solved = factor.solve(right)
    # one refinement, as whatever H keeps of the graph's rows is paid for below
    solved += factor.solve(right - own @ (p[:, None] * (own.T @ solved)))
    h = np.asarray(others.T.toarray() - own.T @ solved)
    terms = np.asarray(others.T.toarray() + abs(own.T) @ np.abs(solved))
    # what H still has of the rows of the graph, realised on the forest: Pi_N takes away no more than its norm of that
    missed = np.abs(nodes @ (p[:, None] * h))
    unsure = (UNIT * 4.0 * degree + 2.0 * rounding) * (nodes @ (p[:, None] * terms))
    off = np.array([_realise(basis, p, column) for column in (missed + unsure).T])
    off = (graph.norm * off + 8.0 * UNIT * terms.max(axis=0)) * UPWARD
    if not np.isfinite(off).all():
        return _NOTHING
    sums = others @ p
    degree = 4.0 + float(np.diff(others.indptr).max(initial=1))
    s = np.asarray(others @ (p[:, None] * h))
    s_off = np.outer(sums, off) + (UNIT * 4.0 * degree + 2.0 * rounding) * np.asarray(others @ (p[:, None] * terms))
    try:
        inverse = np.linalg.inv(s)
    except np.linalg.LinAlgError:
        return _NOTHING
    sizes = np.abs(inverse)
    error = np.abs(np.eye(count) - s @ inverse) + (s_off + (2 * count + 4) * UNIT * np.abs(s)) @ sizes
    # row sums weighted by D = diag(C_R p), the norm in which H S^-1 D is wanted
    worst = float(((error @ sums) / sums).max()) * UPWARD
    if not worst < 0.5:
        return _NOTHING
    reached = sums * (1.0 + 2.0 * rounding) / (1.0 - worst)
    product = np.abs(h @ inverse) + (off + 2.0 * count * UNIT * np.abs(h)) @ sizes
    return float((product @ reached).max()) * UPWARD


def _realise(basis: Basis, p: FloatArray, missed: FloatArray) -> float:
    """Return the largest |f / p| of an f on the forest whose sums over its nodes are no larger than these."""
    forest, found = basis.forest, np.zeros(len(p))
    reach(forest.edge, forest.leaf, forest.other, missed.copy(), found)
    return float((found / p).max()) * UPWARD


def _graph(problem: Problem, basis: Basis) -> _Graph:
    """Return the graph of the basis's forest; no path in it has more edges than its component's smaller side allows."""
    system = problem.system
    order = constraint_order(system, None if problem.slabs is None else problem.slabs.key)
    first = system.index[order[0]].astype(np.int64)
    first_rows = system.block(order[0]).stop - system.block(order[0]).start
    profiles = np.arange(system.profiles)
    if len(order) == 1:
        matrix = sp.csr_array((np.ones(len(first)), (first, profiles)), shape=(first_rows + 1, len(first)))
        # a mean over each row: no larger than its largest entry
        return _Graph(matrix, basis.forest.leaf, 1.0)
    second = first_rows + system.index[order[1]].astype(np.int64)
    nodes = first_rows + system.block(order[1]).stop - system.block(order[1]).start
    columns, ones = np.tile(profiles, 2), np.ones(2 * len(first))
    matrix = sp.csr_array((ones, (np.concatenate([first, second]), columns)), shape=(nodes, len(first)))
    links = sp.coo_array((np.ones(len(first)), (first, second)), shape=(nodes, nodes))
    component = csgraph.connected_components(links, directed=False)[1]
    # L_N = 2 min(rows of either side) - 1 in the largest component (notes/log_ratio.md)
    sides = [np.bincount(component[part], minlength=nodes) for part in (slice(0, first_rows), slice(first_rows, nodes))]
    return _Graph(matrix, basis.forest.leaf, float(2 * np.minimum(*sides).max() - 1))


def _rows_of(problem: Problem, rows: IntArray) -> sp.csr_array:
    """Return some rows of C."""
    system = problem.system
    place = np.full(system.rows, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    found = [place[system.offsets[k] + index.astype(np.int64)] for k, index in enumerate(system.index)]
    own = np.concatenate(found)
    columns = np.tile(np.arange(system.profiles), len(found))[own >= 0]
    own = own[own >= 0]
    return sp.csr_array((np.ones(len(own)), (own, columns)), shape=(len(rows), system.profiles))
