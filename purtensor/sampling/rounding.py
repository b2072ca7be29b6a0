"""Tables of whole numbers near a distribution, with rounded marginals."""

from __future__ import annotations

import numpy as np

from purtensor._options import items_of
from purtensor._typing import BoolArray, IntArray, Table
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.constraints.system import System, align
from purtensor.errors import InconsistentTargetsError, InvalidOptionError
from purtensor.sampling.checks import generator, whole_size
from purtensor.sampling.draw import canonical_order
from purtensor.sampling.fixed_point import LARGEST_TOTAL, to_fixed_point
from purtensor.sampling.flows import round_along_chains, two_chains
from purtensor.sampling.repair import RowBounds, repair, total_deviation
from purtensor.sampling.vertices import MOST_ROWS, round_at_vertex
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.grouping import group_profiles

_AGREE = 1e-6
"""How far the marginals of p may be from the targets, as a share of the total."""

_MOST_MOVABLE = 20_000
"""How many profiles the repair may change at most; of more, as many are chosen at random."""


def round_counts(p: Table, total: int, *, constraints: Constraints = (), seed: int | np.random.Generator = 0) -> Table:
    """Return a table of whole numbers of the given total near total * p, with rounded constrained marginals.

    Every profile, and every row of the constrained marginals, gets one of the two neighbouring whole numbers; what is
    whole stays. Rounding is random, and on the mean over seeds each profile has its exact value: none is favoured.
    Both hold without fail when the scopes of the constraints form at most two chains of nested scopes, as any two
    constraints do: then the table is a flow. For others, such as the three of PUR, the table goes to a random vertex of
    the polytope that the bounds make, on the mean where it was. A vertex that is whole, as most are for a binary
    response, is the answer. Else, and for more than 4,000 rows, the rest is rounded at random, and a bounded search (an
    integer program) changes as few profiles as it can: to neighbouring numbers if it finds them, else to the smallest
    deviation found. The mean is then exact but for what the search changes, up to 0.1 in single profiles of small
    tables.

    Parameters
    ----------
    p
        A distribution of any positive total that meets the constraints, such as their projection.
    total
        The total of the answer, up to 2^42.
    constraints
        The marginals to round; by default none but the total.
    seed
        A non-negative integer, or a numpy Generator, which the rounding moves on.

    Returns
    -------
    The counts, in the layout of `p`. `attrs["deviations"]` tells for each constraint by how much its rows miss their
    neighbouring numbers, in all: 0 when each is rounded.

    Raises
    ------
    InconsistentTargetsError
        `p` does not meet the constraints to a millionth of its total.
    InvalidOptionError
        A total or seed that is not a count.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.round_counts(counts, 30, constraints=pt.marginals_of(counts, "sex | age")).values
    array([10., 10., 10.])
    """
    whole_total = _check_total(total)
    rng = generator(seed)
    coded = encode(p)
    marginals = _list(constraints)
    order = canonical_order(coded)
    masses = to_fixed_point(coded.values[order], whole_total)
    bounds = [_bounds(coded, marginal, order, whole_total) for marginal in marginals]
    rows = [len(bound.lower) for bound in bounds]
    chains = two_chains([frozenset(bound.scope) for bound in bounds], rows)
    # two chains are a flow, which rounds exactly; for too many rows the walk's matrix would not fit
    if sum(map(len, chains)) == len(bounds) or sum(rows) > MOST_ROWS:
        rounded = round_along_chains(masses, [bound.index for bound in bounds], rows, chains, rng)
    else:
        rounded = round_at_vertex(masses, bounds, rng)
    if total_deviation(bounds, rounded):
        common = set.intersection(*(set(bounds[chain[-1]].scope) for chain in chains if chain))
        movable = _movable(masses.fraction() > 0, _blocks(coded, common)[order], rng)
        rounded = repair(rounded, masses.whole(), movable, bounds)
    values = np.empty(len(order))
    values[order] = rounded
    deviations = {" ".join(bound.scope): bound.deviation(rounded) for bound in bounds}
    return coded.rebuild(values, name="count", attrs={"deviations": deviations})


def _check_total(total: int) -> int:
    number = whole_size(total, "total")
    if number > LARGEST_TOTAL:
        raise InvalidOptionError(f"total must be at most 2^42, got {number}: fractions would be too coarse")
    return number


def _list(constraints: Constraints) -> tuple[Marginal, ...]:
    if not isinstance(constraints, Marginal):
        found = None if isinstance(constraints, str) else items_of(constraints)
        if found == []:
            return ()
        constraints = constraints if found is None else found
    # in an order of their own, so that the answer does not depend on the order given
    return tuple(sorted(as_constraints(constraints), key=lambda marginal: sorted(marginal.scope)))


def _bounds(coded: CodedTable, marginal: Marginal, order: IntArray, total: int) -> RowBounds:
    """Return the rows that have profiles, numbered by their first one, so that the layout does not matter."""
    system = align(coded, [marginal])
    _check_agreement(coded, system)
    index = system.index[0][order].astype(np.int64)
    present, first, inverse = np.unique(index, return_index=True, return_inverse=True)
    # argsort twice ranks the rows by their first profile
    rank = np.argsort(np.argsort(first))
    targets = np.empty(len(present))
    scaled = np.ldexp(system.targets, -int(np.frexp(system.targets.max())[1]))  # as fixed_point does
    targets[rank] = scaled[present] * (total / scaled.sum())
    # a target within rounding of a whole number is that number
    slack = 64 * np.finfo(float).eps * max(total, 1)
    lower, upper = np.floor(targets + slack), np.ceil(targets - slack)
    return RowBounds(marginal.scope, rank[inverse], lower.astype(np.int64), upper.astype(np.int64))


def _check_agreement(coded: CodedTable, system: System) -> None:
    sums = np.bincount(system.index[0], weights=coded.values, minlength=system.rows) / coded.total
    targets = system.targets / system.targets.sum()
    worst = int(np.argmax(np.abs(sums - targets)))
    if abs(sums[worst] - targets[worst]) > _AGREE:
        raise InconsistentTargetsError(
            f"'{system.row_label(worst)}' is {sums[worst]:g} of p but {targets[worst]:g} of the target; "
            "project p onto the constraints first, or use its own marginals, by purtensor.marginals_of"
        )


def _blocks(coded: CodedTable, common: set[str]) -> IntArray:
    """Return to which block each profile belongs: those of equal common categories, or each its own without any."""
    if not common:
        return np.arange(len(coded.values))
    names = sorted(common)
    return group_profiles(coded.columns(names), coded.domain.select(names).sizes)[0]


def _movable(fractional: BoolArray, blocks: IntArray, rng: np.random.Generator) -> BoolArray:
    """Return which profiles the repair may change: all that are not whole, or those of blocks chosen at random."""
    if fractional.sum() <= _MOST_MOVABLE:
        return fractional
    _, first, inverse = np.unique(blocks, return_index=True, return_inverse=True)
    turn = rng.permutation(len(first))[np.argsort(np.argsort(first))[inverse]]
    sizes = np.bincount(turn, weights=fractional)
    return fractional & (np.cumsum(sizes) <= _MOST_MOVABLE)[turn]
