"""Which questions are of dense tables with mass in every cell, and what these are as arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.constraints.consistency import ROUNDING
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.slabs import Slabs
from purtensor.constraints.system import System
from purtensor.kernels.engine import runs_in_numpy
from purtensor.solving.iterate import Solver
from purtensor.solving.problem import Problem
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.ipf.product_sweeps import Product
from purtensor.solving.solvers.ipf.slab_layout import LARGEST_SLAB, turn_order
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.ipf.two_way_sweeps import SMALLEST as SMALLEST_TWO_WAY
from purtensor.solving.solvers.ipf.two_way_sweeps import layout_of
from purtensor.solving.spaces.two_way_points import TwoWayTable
from purtensor.tables.coded import domain_of, is_sparse
from purtensor.tables.domain import Domain

SMALLEST = 1 << 9
"""Smaller tables are solved as quickly in their general form."""

_LOOKED_AT = 1 << 12


def product_of(reference: Table, constraints: Sequence[Marginal], solver: Solver) -> Product | TwoWayTable | None:
    """Return a dense table and its constraints as arrays of cells by slabs; None where the general form is wanted.

    Wanted are float64 masses, two constraints that share what makes the slabs, a third one on the cells of a slab or
    none, or two that share nothing; targets with the reference's categories in their order, and plain sweeps or the
    automatic choice.
    """
    order = order_of(solver, len(constraints))
    if order is None or runs_in_numpy() or not isinstance(reference, Table):  # what is no table is refused later
        return None
    if is_sparse(reference) or reference.size < SMALLEST:
        return None
    if reference.dtype != np.float64 or not np.all(reference.values.flat[:: max(1, reference.size // _LOOKED_AT)]):
        return None  # a sample tells of most zeros before anything is copied
    domain = domain_of(reference)
    scopes = [constraint.scope for constraint in constraints]
    if len(scopes) == 2 and sorted(scopes[0] + scopes[1]) == sorted(domain.attributes):
        return _two_way(reference, domain, [constraints[k] for k in order], order, isinstance(solver, Automatic))
    inside = _inside(domain, [frozenset(scope) for scope in scopes])
    found = None if inside is None else turn_order(order, inside)
    if found is None or not all(_fits(domain, constraint.target) for constraint in constraints):
        return None
    _, (a, b), plan = found
    key = [name for name in domain.attributes if name in scopes[a] and name in scopes[b]]
    rows, columns = ([name for name in domain.attributes if name in scopes[k] and name not in key] for k in (a, b))
    shape = tuple(math.prod(domain.select(names).sizes) for names in (rows, columns, key))
    if shape[0] * shape[1] > LARGEST_SLAB:
        return None
    c = next((k for k in range(len(scopes)) if k not in (a, b)), -1)
    cells = _laid_out(reference, [*rows, *columns, *key]).reshape(shape)
    of_a = _laid_out(constraints[a].target, [*rows, *key]).reshape(shape[0], 1, shape[2])
    of_b = _laid_out(constraints[b].target, [*columns, *key]).reshape(1, shape[1], shape[2])
    of_cells = None if c < 0 else _laid_out(constraints[c].target, [*rows, *columns]).reshape(shape[:2])
    if not _agree(of_a[:, 0], of_b[0], of_cells):
        return None
    exponent = math.frexp(float(constraints[0].target.values.sum()))[1]
    scaled = None if of_cells is None else np.ldexp(of_cells, -exponent)
    total = math.ldexp(float(constraints[0].target.values.sum()), -exponent)
    sizes = _sizes(domain, scopes, (a, b), shape, total)
    return Product(sizes, (tuple(rows), tuple(columns), tuple(key)), cells, of_a, of_b, scaled, a, b, c, plan, exponent)


def _two_way(
    reference: Table, domain: Domain, ordered: Sequence[Marginal], order: tuple[int, ...], is_accelerated: bool
) -> TwoWayTable | None:
    """Return a dense two-way table; the constraints are those of the rows and of the columns."""
    targets = [constraint.target for constraint in ordered]
    # smaller ones are not accelerated in the general form, and both must make the same sweeps
    if reference.size < SMALLEST_TWO_WAY or not all(_fits(domain, one) and one.values.min() > 0 for one in targets):
        return None
    rows, columns = ([name for name in domain.attributes if name in one.scope] for one in ordered)
    shape = [math.prod(domain.select(names).sizes) for names in (rows, columns)]
    laid = [_laid_out(target, names).reshape(-1) for target, names in zip(targets, (rows, columns), strict=True)]
    total = float(laid[0].sum())
    if min(shape) < 2 or not abs(total - float(laid[1].sum())) <= 0.5 * ROUNDING * total < math.inf:
        return None
    exponent = math.frexp(total)[1]
    places = [order.index(k) for k in range(2)]
    rows_of = [laid[k] for k in places]
    offsets = np.array([0, len(rows_of[0]), sum(shape)])
    index = np.broadcast_to(np.uint8(0), (2, math.prod(shape)))
    scaled = np.ldexp(np.concatenate(rows_of), -exponent)
    scopes = tuple(ordered[k].scope for k in places)
    system = System(index, offsets, scaled, domain, scopes, ())
    sizes = Problem(np.broadcast_to(np.nan, index.shape[1]), system, float(scaled[: offsets[1]].sum()), None)
    if not layout_of(system, order).is_filled_by(reference.size):
        return None
    cells = _laid_out(reference, [*rows, *columns]).reshape(shape)
    return TwoWayTable(sizes, (tuple(rows), tuple(columns), ()), cells, order[0], order[1], exponent, is_accelerated)


def _laid_out(table: Table, names: Sequence[str]) -> FloatArray:
    values: FloatArray = table.values
    return values.transpose([table.dims.index(name) for name in names])  # xarray's own takes longer than a small solve


def order_of(solver: Solver, constraints: int) -> tuple[int, ...] | None:
    """Return the order of plain sweeps; None where others are requested."""
    every = tuple(range(constraints))
    if isinstance(solver, Automatic):
        return every
    if not isinstance(solver, IPF) or solver != IPF(solver.order):
        return None
    order = every if solver.order is None else tuple(solver.order)
    return order if tuple(sorted(order)) == every else None


def _inside(domain: Domain, scopes: Sequence[frozenset[str]]) -> tuple[int, int] | None:
    """Return the two constraints that share the slabs, those that leave the fewest rows outside; None without."""
    count, every = len(scopes), frozenset(domain.attributes)
    found: list[tuple[int, tuple[int, int]]] = []
    for a in range(count):
        for b in range(a + 1, count):
            others = [scopes[k] for k in range(count) if k not in (a, b)]
            cells = scopes[a] ^ scopes[b]
            # a slab is a value of what the two share; each needs an attribute of its own, or it has one row a slab
            is_slab = scopes[a] & scopes[b] and scopes[a] - scopes[b] and scopes[b] - scopes[a]
            # a third constraint may be on the cells of a slab only, such as parity beside utility and realism
            if is_slab and scopes[a] | scopes[b] == every and others in ([], [cells]):
                found.append((math.prod(domain.select([n for n in domain.attributes if n in cells]).sizes), (a, b)))
    if not found or (count == 3 and len(found) > 1 and sorted(found)[0][0] == sorted(found)[1][0]):
        return None  # among equals the general form chooses
    return min(found)[1]


def _fits(domain: Domain, target: Table) -> bool:
    """Return whether a target is dense, of float64, with the categories of the reference in the same order."""
    if is_sparse(target) or target.dtype != np.float64:
        return False
    own = domain_of(target)
    onto = domain.select(own.attributes) if set(own.attributes) <= set(domain.attributes) else None
    return onto is not None and all(
        one.dtype == other.dtype and one.equals(other)
        for one, other in zip(own.categories, onto.categories, strict=True)
    )


def _agree(of_a: FloatArray, of_b: FloatArray, of_cells: FloatArray | None) -> bool:
    """Return whether targets agree on what they share, as `check_consistency` has it, which says where they do not."""
    pairs = [(of_a.sum(axis=0), of_b.sum(axis=0))]
    if of_cells is not None:
        pairs += [(of_a.sum(axis=1), of_cells.sum(axis=1)), (of_b.sum(axis=1), of_cells.sum(axis=0))]
    total = float(of_a.sum())
    # half of what is allowed: near the limit the general form decides, which sums in another order
    return all(float(np.abs(one - other).max()) <= 0.5 * ROUNDING * total for one, other in pairs)


def _sizes(
    domain: Domain,
    scopes: Sequence[tuple[str, ...]],
    inside: tuple[int, int],
    shape: tuple[int, ...],
    total: float,
) -> Problem:
    """Return a problem that has the sizes of this one, and no numbers: all are NaN."""
    rows = [math.prod(domain.select(scope).sizes) for scope in scopes]
    profiles, offsets = math.prod(shape), np.concatenate([[0], np.cumsum(rows)])
    # nothing is allocated: only shapes are read
    index = np.broadcast_to(np.uint8(0), (len(scopes), profiles))
    system = System(index, offsets, np.broadcast_to(np.nan, offsets[-1]), domain, tuple(scopes), ())
    ends = np.broadcast_to(np.int64(0), shape[2] + 1)
    main = sorted(inside, key=lambda k: -rows[k])
    outside = tuple(k for k in range(len(scopes)) if k not in inside)
    slabs = Slabs((), tuple(main), outside, ends, ends, ends, ends, ends)
    return Problem(np.broadcast_to(np.nan, profiles), system, total, slabs)
