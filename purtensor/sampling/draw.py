"""Random tables of integers: draws from a distribution, and from a population without replacement."""

from __future__ import annotations

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.sampling.checks import generator, whole_counts, whole_size
from purtensor.sampling.hypergeometric import hypergeometric
from purtensor.sampling.splitting import Counts, Masses, canonical_order, split_down
from purtensor.tables.coded import CodedTable, encode


def sample(p: Table, size: int, *, seed: int | np.random.Generator) -> Table:
    """Return the counts of `size` individuals drawn from p / total(p): one multinomial draw.

    The table has the layout and the profiles of `p`; those that were not drawn are 0. The same seed gives the same
    counts, however the attributes, categories and profiles of `p` are arranged.

    Parameters
    ----------
    p
        A distribution, or counts, of any positive total.
    size
        How many individuals to draw, up to 2^53.
    seed
        A non-negative integer, or a numpy Generator, which the draw moves on.

    Raises
    ------
    InvalidTableError
        `p` is no distribution.
    InvalidOptionError
        A size or seed that is none.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"sex": ["f", "m", "m"], "age": ["old", "old", "young"]})
    >>> float(pt.sample(counts, 1000, seed=1).sum())
    1000.0
    """
    number = whole_size(size)
    rng = generator(seed)
    coded = encode(p)
    order = canonical_order(coded)
    return _restored(coded, order, multinomial(coded.values[order], number, rng))


def sample_without_replacement(counts: Table, size: int, *, seed: int | np.random.Generator) -> Table:
    """Return the counts of `size` individuals taken out of the counted ones, each at most once.

    This is one multivariate hypergeometric draw: no profile gets more than it has. Layout, profiles and seeds as in
    `sample`.

    Parameters
    ----------
    counts
        A table of whole numbers.
    size
        How many individuals to take, up to the total of the counts.
    seed
        A non-negative integer, or a numpy Generator, which the draw moves on.

    Raises
    ------
    InvalidTableError
        `counts` has a value that is no whole number; the message names the profile.
    InvalidOptionError
        A size or seed that is none, or more individuals than there are.

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
        raise InvalidOptionError(f"size is {number}, but the counts have {there} individuals; sample draws any number")

    order = canonical_order(coded)
    return _restored(coded, order, multivariate_hypergeometric(present[order], number, rng))


def multinomial(masses: FloatArray, size: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `size` individuals drawn in proportion to positive masses, as an array."""

    def draw_left(left: Masses, right: Masses, here: Counts) -> Counts:
        drawn: Counts = rng.binomial(here, left / (left + right))
        return drawn

    return split_down(masses, size, draw_left)


def multivariate_hypergeometric(counts: Counts, size: int, rng: np.random.Generator) -> Counts:
    """Return the counts of `size` individuals taken out of positive counts without replacement, as an array."""

    def draw_left(left: Masses, right: Masses, here: Counts) -> Counts:
        return hypergeometric(rng, left, right, here)

    return split_down(counts, size, draw_left)


def _restored(coded: CodedTable, order: IntArray, counts: Counts) -> Table:
    values = np.empty(len(order))
    values[order] = counts
    return coded.rebuild(values, name="count")
