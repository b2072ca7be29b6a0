"""How a table is cut into parts of whole slabs and scaled, and its profiles brought to their parts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.outofcore.array_file import read_packed, write_joined, write_packed
from purtensor.solving.scaling import exponent_between, loses_digits, refuse_beyond
from purtensor.tables.grouping import profile_keys, smallest_unsigned
from purtensor.tables.store.format import read_profiles

BUCKETS = 1 << 16
"""Slabs are counted in so many buckets; a part is a range of them."""

# 2^64 divided by the golden ratio, made odd: Fibonacci hashing
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_ORDERED_UP_TO = 1 << 26
"""Keys of a larger product are spread by a hash: few of them occur, and ranges could be uneven."""

_ABOVE = 100
"""A scale is kept that leaves the total of what zeros of the targets do not empty so many powers of two below 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Census:
    """The result of a pass over a table: positive profiles per bucket, their number and their mass."""

    buckets: IntArray
    mass: float
    positive: int


def add_census(parts: list[Census]) -> Census:
    """Return the sum of the results of several chunks."""
    return Census(
        np.sum([part.buckets for part in parts], axis=0),
        math.fsum(part.mass for part in parts),
        sum(part.positive for part in parts),
    )


def take_census(bounds: tuple[int, int], path: Path, where: Sequence[int], sizes: Sequence[int]) -> Census:
    """Return the result of one chunk of a stored table; `where` are the positions of the attributes of the key."""
    codes, values = read_profiles(path, *bounds)
    positive = values > 0
    bucket = bucket_of([codes[k][positive] for k in where], sizes)
    return Census(np.bincount(bucket, minlength=BUCKETS), float(values.sum()), int(positive.sum()))


def find_keys(known: IntArray, codes: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Return where the keys of profiles stand among known keys, which ascend; -1 where they do not.

    The product of the sizes fits into int64, so that keys are mixed-radix numbers.
    """
    wanted = profile_keys(codes, sizes)[0]
    # beyond the last key: clipped, it differs from what stands there
    place = np.minimum(np.searchsorted(known, wanted), max(len(known) - 1, 0))
    return np.where(known[place] == wanted, place, -1)


def bucket_of(codes: Sequence[IntArray], sizes: Sequence[int]) -> IntArray:
    """Return the bucket of each profile, by its codes of the key alone."""
    if math.prod(sizes) <= _ORDERED_UP_TO:
        # neighbouring keys share a bucket, so parts are ranges of the key where that is possible
        return profile_keys(codes, sizes)[0] * BUCKETS // math.prod(sizes)
    mixed = np.zeros(len(codes[0]), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for code in codes:
            mixed = (mixed ^ code.astype(np.uint64)) * _FACTOR
            mixed ^= mixed >> np.uint64(29)
    # the high 16 bits, which the multiplication has mixed best; 2^16 are the buckets
    return (mixed >> np.uint64(48)).astype(np.int64)


def parts_of_buckets(buckets: IntArray, most: int) -> IntArray:
    """Return the part of each bucket: as few parts as hold at most so many profiles each, unless a bucket has more."""
    part = np.empty(len(buckets), dtype=np.int32)
    number, held = 0, 0
    for bucket, count in enumerate(buckets.tolist()):
        # a slab is never cut: a bucket that is too large alone becomes a part of its own
        if held and held + count > most:
            number, held = number + 1, 0
        held += count
        part[bucket] = number
    return part


def scatter(
    bounds: tuple[int, int],
    path: Path,
    folder: Path,
    columns: Sequence[int],
    maps: Sequence[IntArray | None],
    key: Sequence[int],
    sizes: Sequence[int],
    part_of: IntArray,
) -> None:
    """Write the profiles of a chunk into a file, part by part.

    Parameters
    ----------
    columns
        The positions of the attributes that are kept, in the order in which they are written.
    maps
        For each of them its codes in the reference's categories, None where they are the same.
    key, sizes
        Which of the columns are the key's, and the sizes of the key's attributes.
    """
    codes, values = read_profiles(path, *bounds)
    kept = [codes[k] if own is None else own[codes[k]] for k, own in zip(columns, maps, strict=True)]
    write_scattered(folder / f"{bounds[0]:015d}", kept, values, key, sizes, part_of)


def write_scattered(
    path: Path,
    codes: Sequence[IntArray],
    values: FloatArray,
    key: Sequence[int],
    sizes: Sequence[int],
    part_of: IntArray,
) -> None:
    """Write profiles into a file in the order of their parts, and beside it where each part's begin.

    `key` and `sizes` are as for `scatter`, `part_of` has the part of each bucket.
    """
    part, parts = part_of[bucket_of([codes[k] for k in key], sizes)], int(part_of[-1]) + 1
    # stable, so that the order within a part is that of the table
    order = np.argsort(part, kind="stable")
    # scattered files hold the whole table once more: narrow codes keep them small
    kinds = [smallest_unsigned(int(code.max(initial=0)) + 1) for code in codes]
    columns = [np.asarray(code)[order].astype(kind) for code, kind in zip(codes, kinds, strict=True)]
    values = values[order]
    ends = np.cumsum(np.bincount(part, minlength=parts))
    filled = np.flatnonzero(np.diff(ends, prepend=0))

    def pieces() -> Iterator[tuple[dict[str, IntArray], dict[str, int]]]:
        for number in filled:
            own = slice(int(ends[number - 1]) if number else 0, int(ends[number]))
            arrays: dict[str, IntArray] = {f"codes_{k}": column[own] for k, column in enumerate(columns)}
            yield {**arrays, "values": values[own]}, {"columns": len(columns)}

    where = np.zeros((parts, 2), dtype=np.int64)
    written = write_joined(path, pieces())
    where[filled] = np.array([piece[:2] for piece in written], dtype=np.int64).reshape(-1, 2)
    # written last, and what `gather` looks for: a file that broke off is not read
    write_packed(path.with_name(f"{path.name}.where"), {"where": where}, {"columns": len(columns)})


def gather(folder: Path, number: int) -> tuple[list[IntArray], FloatArray]:
    """Return the profiles of a part out of all files of a folder, in the files' order."""
    columns: list[list[IntArray]] = []
    values = []
    # sorted by where each chunk begins: the same bits whichever worker wrote first
    for path in sorted(folder.glob("*.where")):
        index = read_packed(path)
        begin, length = index.arrays["where"][number].tolist()
        if not length:
            columns.append([np.empty(0, dtype=np.int64)] * int(index.facts["columns"]))
            continue
        piece = read_packed(path.with_suffix(""), (begin, length))
        columns.append([piece.arrays[f"codes_{k}"].astype(np.int64) for k in range(piece.facts["columns"])])
        values.append(piece.arrays["values"].copy())
    return [np.concatenate(column) for column in zip(*columns, strict=True)], np.concatenate([np.empty(0), *values])


@dataclass(frozen=True, slots=True)
class Extent:
    """The smallest and the total mass of some profiles of a problem, and the largest that zeros of the targets empty.

    All as the reference has them.
    """

    smallest: float = math.inf
    total: float = 0.0
    left_out: float = 0.0

    @classmethod
    def of(cls, values: FloatArray, alive: BoolArray) -> Extent:
        """Return the extent of some profiles, of which those alive are of the problem."""
        own = values[alive]
        return cls(float(own.min(initial=math.inf)), float(own.sum()), float(values[~alive].max(initial=0.0)))


NOTHING = Extent()
"""The extent of no profiles."""


def exponent_of(extents: Iterable[Extent], used: int) -> int:
    """Return the power of two by which to divide a reference, given its pieces: `used` where that is as good.

    Raises
    ------
    InvalidTableError
        No scale holds the smallest mass and the total, or one of those that zeros of the targets empty.
    """
    pieces = list(extents)
    smallest = min(extent.smallest for extent in pieces)
    total = math.fsum(extent.total for extent in pieces)
    wanted = exponent_between(smallest, total)
    # profiles without mass in the problem still have a reference, which the scale must be able to hold
    refuse_beyond(max(extent.left_out for extent in pieces), wanted)
    # a scale that is in use costs nothing: another one means that all parts are written again
    if not loses_digits(smallest, used) and 0 <= used - math.frexp(total)[1] <= _ABOVE:
        return used
    return wanted


def nats_left_out(lost: float, share: float) -> float:
    """Return what leaving out a share of the reference's mass adds to a divergence from it, given both shares."""
    # near 0 the log of the share has lost the digits of what is missing, near 1 the other way round
    return -math.log1p(-lost) if lost < 0.5 else -math.log(share)
