"""Records as units that get a weight: their columns in codes and numbers, persons summed up into households."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

from purtensor._options import check_name
from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.columns import is_numeric, numbers_of
from purtensor.calibration.groups import Merged
from purtensor.constraints.rows import Cells
from purtensor.errors import InvalidOptionError, InvalidTableError, UnknownAttributeError
from purtensor.records.frames import Records, masses_of, read_records, require_aligned, series
from purtensor.tables.domain import Domain, join_some
from purtensor.tables.factorize import factorize


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """The units that get weights, and the columns that constraints can use.

    Attributes
    ----------
    own, persons
        The units as cells, and their members, which `aggregate` sums; None if there are none.
    records
        For each record its unit: another number for each, unless records share a weight.
    weights
        Shape (units,): the design weights, of a unit's records taken together.
    per_record
        Shape (records,): the design weights as given.
    distance_over
        "records", "households" or "persons": what the distance is summed over, in words.
    """

    own: Cells
    persons: Cells | None
    records: IntArray
    weights: FloatArray
    per_record: FloatArray
    distance_over: str

    def ratios(self, merged: Merged, of_group: FloatArray) -> FloatArray:
        """Return the ratio of every record, from those of the groups; 1 where the design weight is 0."""
        # group -1, of units without a design weight, picks the 1 at the end
        return np.append(of_group, 1.0)[merged.group[self.records]]

    def per_unit(self, ratios: FloatArray) -> FloatArray:
        """Return the weights of the units that count, from the ratios of the records: households count once."""
        weights = self.per_record * ratios
        if self.distance_over != "persons":
            return weights
        # persons of a household have equal weights: one of them stands for all
        return np.asarray(weights[np.unique(self.records, return_index=True)[1]])

    def cells_for(self, attributes: Sequence[str]) -> Cells:
        """Return the cells over which a constraint on these attributes is written: persons where one is theirs.

        Raises
        ------
        UnknownAttributeError
            Neither the records nor their members have one of them.
        """
        if all(_has(self.own, name) for name in attributes):
            return self.own
        if self.persons is not None and all(_has(self.persons, name) for name in attributes):
            return self.persons
        known = dict.fromkeys([*_names(self.own), *(() if self.persons is None else _names(self.persons))])
        name = next(name for name in attributes if name not in known)
        raise UnknownAttributeError.among(name, known, "this set of records")


def read_units(records: Any, attributes: Sequence[str], *, weights: Any, members: Any, key: str | None) -> Units:
    """Return the units that records make.

    Without `key` every record is one. With `key` alone the records are persons, and those with the same key share a
    weight; with `members` the records are households, and the members are their persons.

    Raises
    ------
    InvalidTableError
        Missing values, no records, weights that are not masses, a household given twice, or persons without one.
    UnknownAttributeError
        A column that is not there.
    InvalidOptionError
        Members without a key, or the key or the weights named as an attribute.
    """
    if key is not None:
        check_name("the key", key)
    source = read_records(records)
    require_aligned(records, weights)
    for name in attributes:
        if name == key or (isinstance(weights, str) and name == weights):
            raise InvalidOptionError(
                f"column {name!r} is {'the key' if name == key else 'the weights'}, not an attribute"
            )
    here = [name for name in attributes if name in source.names]
    own, count = _cells(source, here, "the records")
    given = _weights(source, weights, count)
    if key is None:
        if members is not None:
            raise InvalidOptionError("members need key=, the column with the record that each member belongs to")
        return Units(own, None, np.arange(count), given, given, "records")
    labels = _column(source, key, "the records")
    if members is None:
        unit = np.unique(np.asarray(labels.to_numpy()), return_inverse=True)[1].reshape(-1)
        units = int(unit.max()) + 1
        _require_equal_weights(given, unit, key, np.asarray(labels.to_numpy()))
        sizes = np.bincount(unit, minlength=units)
        # a unit's mass is that of its persons together, of which a row has the mean
        means = sparse.csr_array((1.0 / sizes[unit], (unit, np.arange(count))), shape=(units, count))
        cells = Cells(own.domain, own.codes, own.numbers, means)
        return Units(
            cells, None, unit, np.bincount(unit, weights=given, minlength=units).astype(np.float64), given, "persons"
        )
    return _households(source, own, given, labels, attributes, here, members, key)


def _households(
    source: Records,
    own: Cells,
    given: FloatArray,
    labels: nw.Series[Any],
    attributes: Sequence[str],
    here: Sequence[str],
    members: Any,
    key: str,
) -> Units:
    homes = np.asarray(labels.to_numpy())
    distinct, first = np.unique(homes, return_index=True)
    if len(distinct) < len(homes):
        again = int(np.setdiff1d(np.arange(len(homes)), first)[0])
        raise InvalidTableError(
            f"the key {key!r} has {homes[again]!r} twice among the records; each household must be one record"
        )
    persons = read_records(members)
    wanted = [name for name in attributes if name in persons.names and name not in here]
    theirs, count = _cells(persons, wanted, "the members")
    of_person = np.asarray(_column(persons, key, "the members").to_numpy())
    try:
        # a label beyond all others is found at the end: clipped, it differs from what stands there
        at = np.clip(np.searchsorted(distinct, of_person), 0, len(distinct) - 1)
        unknown = np.flatnonzero(distinct[at] != of_person)
    # labels of types that cannot be compared have no household in common
    except TypeError:
        unknown = np.arange(1)
    if len(unknown):
        raise InvalidTableError(
            f"member {unknown[0]} (counted from 0) belongs to {key}={of_person[unknown[0]]!r}, which is not among the "
            "records"
        )
    home = first[at]
    aggregate = sparse.csr_array((np.ones(count), (home, np.arange(count))), shape=(len(homes), count))
    # attributes of the household are those of its persons, too, so that both may stand in one control
    domain = Domain(
        (*theirs.domain.attributes, *own.domain.attributes), (*theirs.domain.categories, *own.domain.categories)
    )
    codes = (*theirs.codes, *(code[home] for code in own.codes))
    numbers = {**{name: values[home] for name, values in own.numbers.items()}, **theirs.numbers}
    both = Cells(domain, codes, numbers, aggregate)
    return Units(own, both, np.arange(len(homes)), given, given, "households")


def _has(cells: Cells, name: str) -> bool:
    return name in cells.domain.attributes or name in cells.numbers


def _names(cells: Cells) -> tuple[str, ...]:
    return (*cells.domain.attributes, *cells.numbers)


def _column(source: Records, name: str, whose: str) -> nw.Series[Any]:
    if name not in source.names:
        raise UnknownAttributeError.among(name, source.names, whose)
    column = source.select([name])[name]
    missing = np.flatnonzero(column.is_null().to_numpy())
    if len(missing):
        raise InvalidTableError(f"column {name!r} of {whose} is missing in row {missing[0]} (counted from 0)")
    return column


def _cells(source: Records, names: Sequence[str], whose: str) -> tuple[Cells, int]:
    """Return columns as cells, and how many rows they have: categories in codes, numbers as they are, or both."""
    attributes, categories, codes, numbers = [], [], [], {}
    columns = source.select(list(names) or list(source.names[:1]))
    count = len(next(iter(columns.values()))) if columns else 0
    if not count:
        raise InvalidTableError(f"{whose} are empty: there is nothing to calibrate")
    for name in names:
        column = columns[name]
        if is_numeric(column):
            numbers[name] = _numbers(column, name, whose)
            # whole numbers may be meant as categories or to be summed: they are kept as both
            if not (np.floor(numbers[name]) == numbers[name]).all():
                continue
        factor = factorize(column, name)
        missing = factor.missing_rows()
        if len(missing):
            raise InvalidTableError(
                f"column {name!r} of {whose} is missing in {len(missing)} of {count} rows ({join_some(missing, 5)}), "
                "counted from 0; fill them in or drop such rows first"
            )
        attributes.append(name)
        categories.append(factor.categories)
        codes.append(factor.codes)
    if not attributes and not numbers:  # rows that count alone need a length
        numbers["number of the row"] = np.arange(count, dtype=np.float64)
    return Cells(Domain(tuple(attributes), tuple(categories)), tuple(codes), numbers), count


def _numbers(column: nw.Series[Any], name: str, whose: str) -> FloatArray:
    def fail(row: int, what: str) -> NoReturn:
        raise InvalidTableError(
            f"column {name!r} of {whose} {what} in row {row} (counted from 0); its total needs all values"
        )

    return numbers_of(column, fail)


def _weights(source: Records, weights: Any, count: int) -> FloatArray:
    if weights is None:
        return np.ones(count)
    column = _column(source, weights, "the records") if isinstance(weights, str) else series(weights, "weights")
    found = masses_of(column, count)
    if not (found > 0).any():
        raise InvalidTableError("all weights are 0: there is nothing to calibrate")
    return found


def _require_equal_weights(given: FloatArray, unit: IntArray, key: str, labels: Any) -> None:
    """Refuse records of one unit with different weights: what they share would be no one's."""
    first = np.zeros(int(unit.max()) + 1)
    # written backwards, so that the first record of each unit is the one that stays
    first[unit[::-1]] = given[::-1]
    differs = np.flatnonzero(given != first[unit])
    if len(differs):
        row = int(differs[0])
        raise InvalidTableError(
            f"the records with {key}={labels[row]!r} have different weights ({first[unit[row]]:g} and {given[row]:g}); "
            "records that share a weight must have the same initial weight"
        )
