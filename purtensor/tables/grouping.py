"""Grouping of coded profiles, for domains of any size: no Cartesian product is ever built."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from purtensor._interrupts import MANY, run_apart
from purtensor._typing import IntArray

# int64 ends at 2^63 - 1; a factor of two is to spare
_LARGEST_KEY = 2**62


def profile_keys(codes: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, int]:
    """Return one int64 key a profile, in lexicographic order of the codes, and a bound that all keys are below.

    Where the product of the sizes would pass 2^62, the keys so far are replaced by their ranks.
    """
    keys = np.zeros(len(codes[0]) if codes else 1, dtype=np.int64)
    bound = 1
    for code, size in zip(codes, sizes, strict=True):
        if bound * size > _LARGEST_KEY:
            # ranks keep the order, and are no more than there are profiles
            distinct, keys = np.unique(keys, return_inverse=True)
            bound = len(distinct)
        keys = keys * size + code
        bound *= size
    return keys, bound


def distinct_keys(keys: IntArray, bound: int) -> tuple[IntArray, IntArray]:
    """Return the position of the first profile of each distinct key, keys ascending, and each profile's group."""
    if bound <= _most_listed(len(keys)):
        first = np.full(bound, -1, dtype=np.int64)
        # backwards: of several assignments to one place the last stays, that of the first profile
        first[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)
        present = np.flatnonzero(first >= 0)
        group = np.zeros(bound, dtype=np.int64)
        group[present] = np.arange(len(present))
        return first[present], group[keys]
    if np.all(keys[1:] >= keys[:-1]):  # tables that purtensor made are in this order: no sorting then
        begins = _begins(keys)
        return np.flatnonzero(begins), np.cumsum(begins) - 1

    def sort_keys() -> tuple[IntArray, IntArray]:
        order = np.argsort(keys)  # of equal keys in any order, which takes half the time: the first is found after
        begins = _begins(keys[order])
        group = np.empty(len(keys), dtype=np.int64)
        group[order] = np.cumsum(begins) - 1
        return np.minimum.reduceat(order, np.flatnonzero(begins)), group

    return run_apart(sort_keys) if len(keys) > MANY else sort_keys()


def _begins(ordered: IntArray) -> npt.NDArray[np.bool_]:
    """Mark the positions at which a new key begins in sorted keys."""
    begins = np.ones(len(ordered), dtype=bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    return begins


def group_profiles(codes: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, tuple[IntArray, ...]]:
    """Return each profile's group (equal codes), and the codes of each group in lexicographic order."""
    keys, bound = profile_keys(codes, sizes)
    if math.prod(sizes) > _most_listed(len(keys)):  # not the bound: that may be one of ranks
        first, group = distinct_keys(keys, bound)
        return group, tuple(code[first] for code in codes)
    present = np.zeros(bound, dtype=bool)
    present[keys] = True
    # so few combinations never made profile_keys fall back on ranks: keys can be divided into codes
    distinct = np.flatnonzero(present)
    group = keys if len(distinct) == bound else (np.cumsum(present) - 1)[keys]
    unravelled = codes_of_keys(distinct, sizes)
    return group, tuple(own.astype(code.dtype) for own, code in zip(unravelled, codes, strict=True))


def codes_of_keys(keys: IntArray, sizes: Sequence[int]) -> tuple[IntArray, ...]:
    """Return the codes of every key of `profile_keys`, for any number of attributes."""
    codes: list[IntArray] = []
    for size in reversed(sizes):
        keys, code = np.divmod(keys, size)
        codes.insert(0, code)
    return tuple(codes)


def _most_listed(count: int) -> int:
    """Return up to how many possible keys of so many profiles are listed rather than sorted."""
    # flags for all possible keys beat sorting while they fit the cache or are about as many as the profiles
    return max(1 << 16, 4 * count)


def first_repeated(codes: Sequence[IntArray], sizes: Sequence[int]) -> int | None:
    """Return the position of a profile that was there before, or None when all are distinct."""
    if not codes or not len(codes[0]):
        return None
    keys, bound = profile_keys(codes, sizes)
    first, _ = distinct_keys(keys, bound)
    if len(first) == len(keys):
        return None
    seen = np.zeros(len(keys), dtype=bool)
    # the first profile of each key; what is left repeats one of them
    seen[first] = True
    return int(np.flatnonzero(~seen)[0])


def smallest_unsigned(count: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned integer type that holds 0 .. count - 1."""
    for kind in (np.uint8, np.uint16, np.uint32):
        if count <= np.iinfo(kind).max + 1:
            return np.dtype(kind)
    return np.dtype(np.uint64)


def places(count: int) -> IntArray:
    """Return 0 .. count - 1 in the smallest signed type of 32 or 64 bits: numbers of profiles, to index with."""
    return np.arange(count, dtype=place_type(count))


def place_type(count: int) -> np.dtype[np.signedinteger[Any]]:
    """Return the smallest signed type of 32 or 64 bits that holds 0 .. count - 1."""
    return np.dtype(np.int32 if count <= np.iinfo(np.int32).max else np.int64)


def code_type(size: int) -> np.dtype[np.signedinteger[Any]]:
    """Return the type that pandas takes for the codes of so many categories."""
    return next(np.dtype(kind) for kind in (np.int8, np.int16, np.int32, np.int64) if size <= np.iinfo(kind).max)
