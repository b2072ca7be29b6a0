"""What estimates are of, numbers of records or of their members; and where weights have no linearised errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import FloatArray, IntArray
from purtensor.calibration.columns import number_column
from purtensor.calibration.units import Units
from purtensor.constraints.rows import RowBlock
from purtensor.errors import InvalidOptionError
from purtensor.records.frames import read_records


def numbers_of_records(records: Any, members: Any, units: Units, values: Any) -> tuple[FloatArray, FloatArray]:
    """Return a number for each record, and how many it is the sum of: more than one where it is of its members.

    Errors as `number_column`.
    """
    if not _is_of_members(records, members, units, values):
        numbers = number_column(records, values)
        return numbers, np.ones(len(numbers))
    numbers, homes, count = number_column(members, values), homes_of(units), len(units.per_record)
    sums = np.bincount(homes, numbers, count).astype(np.float64)
    return sums, np.bincount(homes, minlength=count).astype(np.float64)


def _is_of_members(records: Any, members: Any, units: Units, values: Any) -> bool:
    if members is None:
        return False
    if isinstance(values, str):
        return values not in read_records(records).names and values in read_records(members).names
    lengths = len(units.per_record), len(homes_of(units))
    # an array says by its length whose values it has; where both lengths agree it is the records'
    return bool(np.shape(values)[:1] == lengths[1:] and lengths[0] != lengths[1])


def homes_of(units: Units) -> IntArray:
    """Return for each member the number of its record."""
    persons = units.persons
    if persons is None or persons.aggregate is None:
        return np.empty(0, dtype=np.int64)
    # each member is a column with one entry, in the row of its record
    return np.asarray(persons.aggregate.tocsc().indices, dtype=np.int64)


def refuse_kinks(controls: pd.DataFrame, blocks: Sequence[RowBlock], at_bound: int) -> None:
    """Refuse linearised errors where a small change of the sample moves the weights as no linear function does.

    Raises
    ------
    InvalidOptionError
        Ratios at a bound, soft controls, or intervals.
    """
    what = ""
    if at_bound:
        what = f"{at_bound} ratios are at a bound"
    elif any(block.softness is not None for block in blocks):
        what = "some controls are soft"
    elif controls["state"].isin(["lower", "upper"]).any():
        what = "an interval is active"
    elif (controls["state"] == "inside").any():
        what = "some controls are intervals"
    if what:
        raise InvalidOptionError(
            f"{what}, so the weights are not a smooth function of the sample and have no linearised standard "
            "errors; use replicate weights, such as those of bootstrap(count, seed=...)"
        )
