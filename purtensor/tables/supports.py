"""Which profiles may occur: the observed ones crossed with some categories, or those that a table declares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.tables.coded import CodedTable, describe_profile, encode
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.memory import require_memory
from purtensor.tables.translate import category_map, translate_codes


def cross_support(
    coded: CodedTable, responses: tuple[str, ...], support: str
) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and values of a table on all combinations of observed categories with profiles.

    Crossed are the categories of the responses ("observed") or of every attribute ("product") with the observed
    profiles of the other attributes. Profiles stand in category order; those that were not observed have value 0.

    Raises
    ------
    TooLargeError
        The support is beyond the memory that is available; nothing was allocated.
    """
    names = coded.domain.attributes
    if support not in ("observed", "product"):
        raise InvalidOptionError(f"support must be 'observed', 'product' or a table, got {support!r}")
    crossed = responses if support == "observed" else names
    present = [np.unique(column) for column in coded.columns(crossed)]
    kept = tuple(name for name in names if name not in crossed)
    group: IntArray = np.zeros(len(coded.values), dtype=np.int64)
    kept_codes: tuple[IntArray, ...] = ()
    if kept:
        group, kept_codes = group_profiles(coded.columns(kept), coded.domain.select(kept).sizes)
    count = len(kept_codes[0]) if kept_codes else 1
    profiles = math.prod(map(len, present)) * count
    require_memory(
        profiles * (48 + 2 * sum(code.itemsize for code in coded.codes)),
        f"the support {support!r} of {profiles} profiles",
        "give a table of the profiles that can occur" if support == "observed" else "use support='observed'",
    )
    columns: dict[str, IntArray] = {}
    # the number of each observed profile in the product, in which the kept attributes vary fastest
    place, repeats = group, profiles
    for name, codes, column in zip(crossed, present, coded.columns(crossed), strict=True):
        repeats //= len(codes)
        columns[name] = np.tile(np.repeat(codes, repeats), profiles // (len(codes) * repeats))
        place = place + np.searchsorted(codes, column) * repeats
    for name, codes in zip(kept, kept_codes, strict=True):
        columns[name] = np.tile(codes, profiles // count)
    # all crossed profiles differ, so that their group is their rank in category order
    order, sorted_codes = group_profiles([columns[name] for name in names], coded.domain.sizes)
    values = np.zeros(profiles)
    values[order[place]] = coded.values
    return coded.domain, sorted_codes, values


def take_support(coded: CodedTable, support: Any) -> tuple[Domain, tuple[IntArray, ...], FloatArray]:
    """Return the domain, codes and values of a table on the positive profiles of `support`, in category order.

    Categories that only the support has mass in join the domain, after the others.

    Raises
    ------
    InvalidTableError
        The table has mass outside of the support, or the support is over other attributes.
    """
    declared = encode(support)
    extra = [name for name in declared.domain.attributes if name not in coded.domain.attributes]
    if extra:
        raise InvalidTableError(f"the support has the attribute {extra[0]!r}, which the counts do not have")
    domain = _with_categories_of(coded.domain, declared)
    onto = translate_codes(declared, domain)
    joint = [np.concatenate([theirs, ours]) for theirs, ours in zip(onto, coded.codes, strict=True)]
    group, codes = group_profiles(joint, domain.sizes)
    profiles = len(declared.values)
    ours = group[profiles:]
    supported = np.zeros(len(codes[0]), dtype=bool)
    supported[group[:profiles]] = True
    outside = np.flatnonzero(~supported[ours])
    if len(outside):
        row = int(outside[0])
        profile = describe_profile(coded.domain, [code[row] for code in coded.codes])
        raise InvalidTableError(
            f"profile ({profile}) has {coded.values[row]:g}, but the support does not have it ({len(outside)} such "
            "profiles in all); an observed profile cannot be a structural zero: correct the counts or the support"
        )
    # none lies outside, so that the groups are the declared profiles, in category order
    values = np.zeros(profiles)
    values[ours] = coded.values
    return domain, codes, values


def _with_categories_of(domain: Domain, declared: CodedTable) -> Domain:
    """Return the domain with the categories added that only the declared support has mass in."""
    categories = []
    for name, known in zip(domain.attributes, domain.categories, strict=True):
        theirs = declared.domain.categories[declared.domain.position(name)]
        used = np.unique(declared.codes[declared.domain.position(name)])
        new = used[category_map(theirs, known)[used] < 0]
        categories.append(pd.Index([*known.tolist(), *theirs[new].tolist()]) if len(new) else known)
    return Domain(domain.attributes, tuple(categories))
