"""Random tables of integers: draws from a distribution, and from a population without replacement."""

from __future__ import annotations

import secrets
from typing import overload

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.sampling.checks import generator, whole_counts, whole_size
from purtensor.sampling.splitting import Counts, Masses, canonical_order, split_down
from purtensor.tables.coded import CodedTable, encode
from purtensor.tables.store.open_store import StoredTable, TableWriter, read_profiles
from purtensor.tables.store.table import require_mass

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
    writer = TableWriter(p.workspace / f"sample-{secrets.token_hex(8)}.zarr", p.domain, chunk=p.chunk)
    try:
        for bounds, count in zip(p.bounds, share.tolist(), strict=True):
            codes, values = read_profiles(p.path, *bounds)
            drawn = np.zeros(len(values))
            if count:
                drawn[values > 0] = multinomial(values[values > 0], count, rng)
            writer.append(codes, drawn)
        return writer.close()
    except BaseException:
        writer.abandon()
        raise


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
