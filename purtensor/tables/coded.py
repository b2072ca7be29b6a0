"""The door between labels and arrays: tables in, integer codes and float64 values out, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import xarray as xr
from xarray.indexes import Index, PandasIndex

from purtensor._typing import FloatArray, IntArray, Profile, Table
from purtensor.errors import InvalidTableError, PurtensorError
from purtensor.tables.domain import (
    PROFILE,
    Domain,
    check_attribute,
    describe_profile,
    index_of_codes,
    label_of,
)
from purtensor.tables.grouping import code_type, first_repeated, group_profiles, place_type, places, profile_keys
from purtensor.tables.masses import as_masses


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A table on its support: one row per profile with positive mass.

    Attributes
    ----------
    domain
        Attributes and categories, also those without mass.
    values
        The mass of every profile of the support, positive, in the table's own units.
    template
        The table as given.
    stored
        For each attribute the codes that a sparse table stores, those of zeros included; None where it is dense.
    where
        Where in the template the support lies; None where it is all of it.
    """

    domain: Domain
    values: FloatArray
    template: Table
    stored: tuple[IntArray, ...] | None
    where: IntArray | None

    @cached_property
    def codes(self) -> tuple[IntArray, ...]:
        """For each attribute the category code of every profile of the support."""
        if self.stored is None:
            return _dense_codes(self.template.shape, self.positions)
        return self.stored if self.where is None else tuple(code[self.where] for code in self.stored)

    @cached_property
    def positions(self) -> IntArray:
        """Where in the template the support lies."""
        return places(len(self.values)) if self.where is None else self.where

    @property
    def is_product(self) -> bool:
        """Whether the table is dense, and has mass in every cell."""
        return self.stored is None and self.where is None

    @property
    def total(self) -> float:
        """The mass of the whole table."""
        return float(self.values.sum())

    def columns(self, attributes: Sequence[str]) -> tuple[IntArray, ...]:
        """Return the codes of `attributes`, in the order asked."""
        return tuple(self.codes[self.domain.position(name)] for name in attributes)

    def label(self, row: int) -> Profile:
        """Return the categories of one profile of the support."""
        return label_of(self.domain, [code[row] for code in self.codes])

    def describe(self, row: int) -> str:
        """Return one profile of the support as text, such as 'sex=male, race=white'."""
        return describe_profile(self.domain, [code[row] for code in self.codes])

    def keys(self) -> tuple[IntArray, int]:
        """Return an int64 key a profile in lexicographic order of the codes, and a bound that all keys are below."""
        return profile_keys(self.codes, self.domain.sizes)

    def rebuild(self, values: FloatArray, *, name: Hashable = None, attrs: dict[str, Any] | None = None) -> Table:
        """Return a table of the template's layout with `values` on the support and exact 0 elsewhere."""
        flat = np.zeros(self.template.size)
        flat[self.positions] = values
        return relaid(self.template, flat, name=name, attrs=attrs)


def relaid(template: Table, flat: FloatArray, *, name: Hashable = None, attrs: dict[str, Any] | None = None) -> Table:
    """Return a table of the template's layout with the values in its order, in chunks of dask where it has these."""
    table = template.copy(deep=False, data=flat.reshape(template.shape))
    if template.chunks is not None:
        table = table.chunk(template.chunksizes)
    table.name = name
    table.attrs = attrs or {}
    return table


def is_sparse(table: Table) -> bool:
    """Return whether a table is in the sparse layout: one dimension `profile` over a MultiIndex."""
    return table.dims == (PROFILE,) and isinstance(table.indexes.get(PROFILE), pd.MultiIndex)


def domain_of(table: Table) -> Domain:
    """Return the attributes and categories of a table of either layout.

    Raises
    ------
    InvalidTableError
        Not a DataArray, an attribute without labels or with repeated ones, or a name that is not a plain string.
    """
    # a StoredTable, known by its method: its module imports this one
    if hasattr(table, "to_table"):
        raise InvalidTableError(
            "this function needs a table in memory, got a table on disk; if it fits into memory, give its to_table()"
        )
    if not isinstance(table, xr.DataArray):
        package = type(table).__module__.partition(".")[0]
        raise InvalidTableError(
            f"a table must be an xarray.DataArray, got {package}.{type(table).__qualname__}; convert counts "
            "with purtensor.as_table, records with purtensor.tabulate"
        )
    if is_sparse(table):
        index = table.indexes[PROFILE]
        # levels keep the categories that no stored profile has
        names, categories = tuple(index.names), tuple(index.levels)
    else:
        if not table.dims:
            raise InvalidTableError("the table must have at least one attribute, got a single number")
        names = tuple(table.dims)
        indexes = table.indexes  # made anew whenever it is requested
        unlabelled = [name for name in names if name not in indexes]
        if unlabelled:
            raise InvalidTableError(
                f"attribute {unlabelled[0]!r} has no category labels; give the dimension a coordinate"
            )
        categories = tuple(indexes[name] for name in names)
    for name, index in zip(names, categories, strict=True):
        check_attribute(name, index)
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise InvalidTableError(f"attribute {repeated[0]!r} occurs twice; names must be unique")
    return Domain(names, categories)


def encode(table: Table, *, allow_empty: bool = False, copy: bool = True) -> CodedTable:
    """Return the support of a table as integer codes and float64 values, checked.

    Parameters
    ----------
    allow_empty
        Whether a table without mass is let through.
    copy
        Whether the values are an array of their own; else they may be the table's, not to be written to.

    Raises
    ------
    InvalidTableError
        Negative, not finite, not a number, an integer beyond 2^53, no mass (unless `allow_empty`), a total that
        float64 cannot hold, or repeated profiles; the message names the profile.
    """
    domain = domain_of(table)
    stored = read_codes(table, domain) if is_sparse(table) else None
    # row by row, the order in which positions are counted everywhere
    values = as_masses(np.asarray(table.values).reshape(-1), profile_refusal(table))
    # None spares full tables, the usual case, an index as long as the table
    where = None if np.count_nonzero(values) == len(values) else np.flatnonzero(values).astype(place_type(len(values)))
    if not allow_empty and len(values if where is None else where) == 0:
        raise InvalidTableError("the table is empty: at least one profile must have positive mass")
    if where is not None:
        values = values[where]
    # as_masses returns the table's own array where that is float64 already
    elif copy and np.may_share_memory(values, table.values):
        values = values.copy()
    # every mass is finite, their sum need not be
    with np.errstate(over="ignore"):
        total = values.sum()
    if not np.isfinite(total):
        raise InvalidTableError("the total mass is beyond what float64 can hold; divide the table by a constant")
    return CodedTable(domain, values, table, stored, where)


def _dense_codes(shape: tuple[int, ...], positions: IntArray) -> tuple[IntArray, ...]:
    """Return the codes of positions in a dense table, in the types that pandas takes for codes."""
    # for few positions divisions are cheaper than laying out the codes of every cell
    if len(positions) < np.prod(shape, dtype=object) // 4:
        unravelled = np.unravel_index(positions, shape)
        return tuple(code.astype(code_type(size)) for code, size in zip(unravelled, shape, strict=True))
    found = []
    for axis, size in enumerate(shape):
        # the codes of one axis, laid along it and repeated over all others
        along = np.arange(size, dtype=code_type(size)).reshape((size, *[1] * (len(shape) - axis - 1)))
        everywhere = np.broadcast_to(along, shape).reshape(-1)
        found.append(everywhere if len(positions) == len(everywhere) else everywhere[positions])
    return tuple(found)


def profile_refusal(table: Table, what: str = "profile") -> Callable[[int, str], NoReturn]:
    """Return what raises InvalidTableError for the profile at a position, counted row by row."""

    def fail(position: int, problem: str) -> NoReturn:
        domain = domain_of(table)
        # codes of all cells of a dense table may not fit into memory
        stored = is_sparse(table)
        codes = [c[position] for c in read_codes(table, domain)] if stored else np.unravel_index(position, table.shape)
        raise InvalidTableError(f"{what} ({describe_profile(domain, codes)}) {problem}")

    return fail


def require_distinct(domain: Domain, codes: Sequence[IntArray], refusal: Callable[[int, str], PurtensorError]) -> None:
    """Raise the error that `refusal` makes of the number and the text of a profile that was there before, if any."""
    again = first_repeated(codes, domain.sizes)
    if again is not None:
        raise refusal(again, describe_profile(domain, [code[again] for code in codes]))


def read_codes(table: Table, domain: Domain) -> tuple[IntArray, ...]:
    """Return for each attribute the category code of every profile of a table, row by row, zeros included.

    Raises
    ------
    InvalidTableError
        A missing label, or a profile that is stored twice.
    """
    if not is_sparse(table):
        return tuple(np.asarray(code) for code in np.unravel_index(np.arange(table.size), table.shape))
    codes: tuple[IntArray, ...] = tuple(np.asarray(code) for code in table.indexes[PROFILE].codes)
    for name, code in zip(domain.attributes, codes, strict=True):
        # pandas codes a missing label as -1
        if len(code) and code.min() < 0:
            raise InvalidTableError(f"attribute {name!r} is missing in profile number {int(np.argmin(code))}")
    what = "profile ({}) occurs twice; sum its values, for example with purtensor.tabulate"
    require_distinct(domain, codes, lambda _, profile: InvalidTableError(what.format(profile)))
    return codes


def sparse_table(
    domain: Domain,
    codes: Sequence[IntArray],
    values: FloatArray,
    *,
    name: Hashable = None,
    attrs: dict[str, Any] | None = None,
) -> Table:
    """Return a sparse table from codes; the profiles are taken as distinct and valid."""
    coords = xr.Coordinates.from_pandas_multiindex(index_of_codes(domain, codes), PROFILE)
    return _assemble((PROFILE,), values, dict(coords.variables), coords.xindexes, name, attrs)


def dense_table(
    domain: Domain, values: FloatArray, *, name: Hashable = None, attrs: dict[str, Any] | None = None
) -> Table:
    """Return a dense table: one dimension an attribute, values in category order."""
    variables: dict[Hashable, xr.Variable] = {}
    indexes = {}
    for attribute, categories in zip(domain.attributes, domain.categories, strict=True):
        index = PandasIndex(categories.rename(attribute), attribute)
        indexes[attribute] = index
        variables.update(index.create_variables())
    return _assemble(domain.attributes, values, variables, indexes, name, attrs)


def _assemble(
    dims: tuple[str, ...],
    values: FloatArray,
    variables: dict[Hashable, xr.Variable],
    indexes: Mapping[Any, Index],
    name: Hashable,
    attrs: dict[str, Any] | None,
) -> Table:
    """Return a table of parts that fit: the usual constructor would copy all labels, for most of a call's time."""
    variable = xr.Variable(dims, values, attrs or {}, fastpath=True)
    return xr.DataArray(variable, variables, name=name, indexes=indexes, fastpath=True)


def like(template: Table, domain: Domain, codes: Sequence[IntArray], values: FloatArray, **names: Any) -> Table:
    """Return a table of these profiles in the layout of `template`: profiles left out are 0 in the dense layout."""
    if is_sparse(template):
        return sparse_table(domain, codes, values, **names)
    dense = np.zeros(domain.sizes)
    dense[tuple(codes)] = values
    return dense_table(domain, dense, **names)


def like_sorted(template: Table, domain: Domain, codes: Sequence[IntArray], masses: FloatArray, **names: Any) -> Table:
    """Return a table as `like`, its profiles, of which none occurs twice, brought into category order."""
    group, ordered = group_profiles(codes, domain.sizes)
    values = np.empty(len(masses))
    values[group] = masses
    return like(template, domain, ordered, values, **names)
