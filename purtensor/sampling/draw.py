"""Random tables of integers: draws from a distribution, and from a population without replacement.

Individuals go left or right, down a binary tree of sums: splitting a multinomial draw takes binomials, a draw without
replacement hypergeometrics, one per node. The sums of the tree are pairwise sums, so that the smallest profile's chance
is exact to rounding; going through the profiles one after the other would take what earlier ones leave of 1, and lose
it to cancellation.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.sampling.checks import generator, whole_counts, whole_size
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.domain import is_boolean
from purtensor.tables.grouping import profile_keys
from purtensor.tables.store.format import read_profiles
from purtensor.tables.store.table import StoredTable, require_mass
from purtensor.tables.store.write import TableWriter

Masses = npt.NDArray[Any]
Counts = npt.NDArray[np.int64]
Draw = Callable[[Masses, Masses, Counts], Counts]

MOST_INDIVIDUALS = 10**9
"""numpy's hypergeometric draws refuse populations as large: its logarithms of factorials are too coarse there."""


@overload
def sample(p: Table, size: int, *, seed: int | np.random.Generator) -> Table: ...
@overload
def sample(p: StoredTable, size: int, *, seed: int | np.random.Generator) -> StoredTable: ...
def sample(p: Table | StoredTable, size: int, *, seed: int | np.random.Generator) -> Table | StoredTable:
    """Return the counts of `size` individuals drawn from p / total(p): one multinomial draw.

    The table has the layout and the profiles of `p`, with 0 for profiles that were not drawn. The same seed gives the
    same counts for any order of the attributes, categories and profiles of `p`.

    Parameters
    ----------
    p
        A distribution, or counts, of any positive total. From a stored table a stored one is drawn, into its
        workspace: how many in each chunk first, then within the chunks, so that the counts depend on the chunks.
    size
        The number of individuals to draw, up to 2^53.
    seed
        A non-negative integer, or a numpy Generator, which is advanced.

    Raises
    ------
    InvalidTableError
        `p` is not a distribution.
    InvalidOptionError
        A size or seed that is not a count.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> float(pt.sample(counts, 1000, seed=1).sum())
    1000.0
    """
    number = whole_size(size)
    rng = generator(seed)
    if isinstance(p, StoredTable):
        return _sample_stored(p, number, rng)
    coded = encode(p)
    order = canonical_order(coded)
    return _restore(coded, order, multinomial(coded.values[order], number, rng))


def _sample_stored(p: StoredTable, size: int, rng: np.random.Generator) -> StoredTable:
    require_mass(p)
    masses = np.array([float(read_profiles(p.path, *bounds)[1].sum()) for bounds in p.bounds])
    share = np.zeros(len(masses), dtype=np.int64)
    # only positive masses can be drawn from
    share[masses > 0] = multinomial(masses[masses > 0], size, rng)
    p.workspace.mkdir(parents=True, exist_ok=True)
    with TableWriter(p.workspace / f"sample-{secrets.token_hex(8)}.zarr", p.domain, chunk=p.chunk) as writer:
        for bounds, count in zip(p.bounds, share.tolist(), strict=True):
            codes, values = read_profiles(p.path, *bounds)
            drawn = np.zeros(len(values))
            if count:
                drawn[values > 0] = multinomial(values[values > 0], count, rng)
            writer.append(codes, drawn)
        return writer.close()


def sample_without_replacement(counts: Table, size: int, *, seed: int | np.random.Generator) -> Table:
    """Return the counts of `size` individuals drawn from the counted ones without replacement.

    This is one multivariate hypergeometric draw: no profile gets more than it has. Layout, profiles and seeds as in
    `sample`.

    Parameters
    ----------
    counts
        A table of whole numbers.
    size
        The number of individuals to draw, at most the total of the counts.
    seed
        A non-negative integer, or a numpy Generator, which the draw moves on.

    Raises
    ------
    InvalidTableError
        `counts` has a value that is not a whole number; the message names the profile.
    InvalidOptionError
        A size or seed that is not a count, more individuals than there are, or counts of 10^9 individuals or more.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> pt.sample_without_replacement(counts, 3, seed=1).values
    array([1., 1., 1.])
    """
    number = whole_size(size)
    rng = generator(seed)
    coded = encode(counts)
    present = whole_counts(coded)
    if number > (there := int(present.sum())):
        raise InvalidOptionError(
            f"size must be at most the number of individuals, {there}, got {number}; sample draws any number"
        )
    if there >= MOST_INDIVIDUALS:
        raise InvalidOptionError(
            f"counts must have fewer than 10^9 individuals to be drawn from without replacement, got {there:,}; sample "
            "draws with replacement, which is nearly the same for a small share of the individuals"
        )
    order = canonical_order(coded)
    return _restore(coded, order, multivariate_hypergeometric(present[order], number, rng))


def multinomial(masses: FloatArray, size: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `size` individuals drawn in proportion to positive masses, as an array."""

    def draw_left(left: Masses, right: Masses, here: Counts) -> Counts:
        # a multinomial draw is binomial at every split, given how many are there
        drawn: Counts = rng.binomial(here, left / (left + right))
        return drawn

    return split_down(masses, size, draw_left)


def multivariate_hypergeometric(counts: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `size` individuals taken out of positive counts without replacement, as an array."""

    def draw_left(left: Masses, right: Masses, here: Counts) -> Counts:
        # so is a multivariate hypergeometric one, given how many were taken
        drawn: Counts = rng.hypergeometric(left, right, here)
        return drawn

    return split_down(counts, size, draw_left)


def _restore(coded: CodedTable, order: IntArray, counts: Counts) -> Table:
    values = np.empty(len(order))
    values[order] = counts
    return coded.rebuild(values, name="count")


def canonical_order(coded: CodedTable) -> IntArray:
    """Return the rows of the support in an order that depends on names and labels alone, not on the layout.

    Attributes go by name, categories by their text: the same seed draws the same from a table however it is arranged.
    """
    names = sorted(coded.domain.attributes)
    ranked = []
    for name, code in zip(names, coded.columns(names), strict=True):
        labels = [(str(label), is_boolean(label)) for label in coded.domain.categories[coded.domain.position(name)]]
        order = sorted(range(len(labels)), key=labels.__getitem__)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ranked.append(rank[code])
    keys, _ = profile_keys(ranked, coded.domain.select(names).sizes)
    return np.argsort(keys, kind="stable")


def split_down(masses: Masses, size: int, draw_left: Draw) -> Counts:
    """Return how many of `size` individuals fall on each of the masses.

    Parameters
    ----------
    masses
        Positive masses, at least one.
    draw_left
        Draws from the masses left and right of some nodes, and the number of individuals there (positive), how many
        of them go left.
    """
    levels = [masses]
    while len(levels[-1]) > 1:
        level = levels[-1]
        pairs = len(level) // 2
        above = level[::2].copy()  # of an odd number the last one goes up alone
        above[:pairs] += level[1::2]
        levels.append(above)
    counts: Counts = np.array([size], dtype=np.int64)
    for level in reversed(levels[:-1]):
        below = np.zeros(len(level), dtype=np.int64)
        below[::2] = counts
        # where nobody is left nothing is drawn: the draws are at most size per level
        nodes = np.flatnonzero(counts[: len(level) // 2])
        present = counts[nodes]
        left = draw_left(level[2 * nodes], level[2 * nodes + 1], present)
        below[2 * nodes] = left
        below[2 * nodes + 1] = present - left
        counts = below
    return counts
