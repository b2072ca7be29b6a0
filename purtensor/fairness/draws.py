"""Random decisions that can be made again: each depends on the seed and on the record's name, never on its content."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable

import numpy as np

from purtensor._typing import FloatArray, IntArray

_FINEST = 2.0**-53


def uniforms(names: Iterable[Hashable], seed: int) -> FloatArray:
    """Return a uniform number in [0, 1) for each record, by its name and the seed alone.

    The names are positions, or the identifiers of the records, taken as text. A name that comes again gets other
    numbers, one for each time, so that the draws of different records are independent even where names repeat.

    Examples
    --------
    >>> first = uniforms(range(3), seed=1)
    >>> bool((uniforms([2, 0], seed=1) == first[[2, 0]]).all()), len(set(uniforms(["a", "a"], seed=1)))
    (True, 2)
    """
    times: Counter[str] = Counter()
    found = []
    for name in map(str, names):
        # not hash(), which Python salts anew in every process
        digest = hashlib.blake2b(f"{seed}/{times[name]}/{name}".encode(errors="surrogatepass"), digest_size=8).digest()
        # 53 of 64 bits, the digits of float64
        found.append(int.from_bytes(digest) >> 11)
        times[name] += 1
    return np.array(found, dtype=np.float64) * _FINEST


def draw_categories(probabilities: FloatArray, numbers: FloatArray) -> IntArray:
    """Return the category of each record: the inverse of its distribution function at its uniform number.

    Parameters
    ----------
    probabilities
        Shape (records, categories), rows of sum 1 up to rounding.
    numbers
        Shape (records,), in [0, 1).

    Examples
    --------
    >>> draw_categories(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.5, 0.999])).tolist()
    [1, 0]
    """
    cumulated = probabilities.cumsum(axis=1)
    # exactly 1 at the end: no number falls behind the last category
    cumulated /= cumulated[:, -1:]
    return np.asarray((cumulated <= numbers[:, None]).sum(axis=1))
