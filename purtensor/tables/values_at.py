"""The values of a table at given profiles, by label."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.tables.coded import domain_of, is_sparse, read_codes
from purtensor.tables.domain import Domain
from purtensor.tables.grouping import group_profiles
from purtensor.tables.translate import category_map


def find_rows(table: Table, domain: Domain) -> tuple[list[IntArray], FloatArray]:
    """Return the codes of a table's profiles in a domain, and their values; profiles that it does not know left out."""
    own = domain_of(table)
    flat = np.asarray(table.values, dtype=np.float64).reshape(-1)
    stored = read_codes(table, own) if is_sparse(table) else np.unravel_index(np.arange(flat.size), table.shape)
    columns = []
    for name, categories in zip(domain.attributes, domain.categories, strict=True):
        position = own.position(name)
        columns.append(np.asarray(category_map(own.categories[position], categories)[stored[position]], np.int64))
    known = np.all([column >= 0 for column in columns], axis=0)
    return [column[known] for column in columns], flat[known]


def look_up(table: Table, domain: Domain, codes: Sequence[IntArray]) -> FloatArray:
    """Return the table's value at each profile of the domain given by codes, 0 where the table has none."""
    columns, flat = find_rows(table, domain)
    joint = [np.concatenate([wanted, column]) for wanted, column in zip(codes, columns, strict=True)]
    group, _ = group_profiles(joint, domain.sizes)
    # in the joint groups the wanted profiles come first, the table's own after them
    count = len(codes[0])
    by_group = np.zeros(int(group.max()) + 1)
    by_group[group[count:]] = flat
    return np.asarray(by_group[group[:count]])
