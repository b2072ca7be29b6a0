"""Controls in a frame, one row per target: an empty one to fill in, and a filled one as constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from purtensor._typing import FloatArray
from purtensor.calibration.columns import is_numeric, numbers_of
from purtensor.calibration.units import Units, read_units
from purtensor.constraints.between import Between
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rows import RowBlock, RowConstraint
from purtensor.constraints.scopes import Scopes, read_scopes
from purtensor.constraints.soft import Soft, soft
from purtensor.constraints.totals import Total, total
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.records.frames import frame_like
from purtensor.solving.dual.options import general_constraints
from purtensor.tables.domain import join_some

CONTROL, VALUE, SAMPLE, TARGET, LOWER, UPPER, SD = "control", "value", "sample", "target", "lower", "upper", "sd"
_OWN = (CONTROL, VALUE, SAMPLE, TARGET, LOWER, UPPER, SD)


def template(
    records: Any, constraints_or_scopes: Any, *, weights: Any = None, members: Any = None, key: str | None = None
) -> Any:
    """Return a frame of controls with empty targets: one row for each label that the records have.

    The columns are `control`, the name; one column for each attribute, empty where the control does not use it;
    `value`, the numeric column that is summed, empty for counts; `sample`, the weighted total of the records; and
    `target`, to be filled in and read by `controls_of` and `calibrate`. Add columns `lower` and `upper` for intervals,
    or `sd` for the standard errors of soft targets.

    Parameters
    ----------
    records, weights, members, key
        As in `calibrate`.
    constraints_or_scopes
        The controls: scopes as in `marginals_of`, such as "sex | age region", or constraints that are totals or
        marginals, whose targets are then filled in.

    Returns
    -------
    frame
        In the library of the records: pandas, polars or pyarrow; pandas for a dict.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, InvalidOptionError
        As `calibrate`; also for a scope with the name of a column of the frame, or a constraint that is not a total.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"sex": list("ffmm"), "age": list("yoyo"), "w": [1.0, 2.0, 1.5, 1.5]}
    >>> frame = pt.template(people, "sex | age", weights="w")
    >>> frame.columns.tolist()
    ['control', 'sex', 'age', 'value', 'sample', 'target']
    >>> dict(zip(frame["sex"].fillna(frame["age"]), frame["sample"]))
    {'f': 3.0, 'm': 3.0, 'o': 3.5, 'y': 2.5}
    """
    empty = isinstance(constraints_or_scopes, str) or not _are_constraints(constraints_or_scopes)
    controls = _of_scopes(constraints_or_scopes) if empty else general_constraints(constraints_or_scopes)
    attributes = tuple(dict.fromkeys(name for control in controls for name in control.attributes))
    taken = [name for name in attributes if name in _OWN]
    if taken:
        raise InvalidOptionError(f"{taken[0]!r} is the name of a column of templates: rename that attribute first")
    units = read_units(records, attributes, weights=weights, members=members, key=key)
    lines = [line for control in controls for line in _lines(control, units, empty=empty)]
    labels = [name for name in attributes if any(name in line for line in lines)]
    columns = [CONTROL, *labels, VALUE, SAMPLE, *(name for name in (TARGET, LOWER, UPPER, SD) if _is_used(name, lines))]
    frame = pd.DataFrame({name: [line.get(name) for line in lines] for name in columns})
    for name in labels:  # whole numbers stay whole beside gaps
        frame[name] = pd.Series([line.get(name) for line in lines], dtype=object)
    return frame_like(frame, records)


def controls_of(frame: Any) -> tuple[Any, ...]:
    """Return the constraints that a frame of controls means, as `template` lays it out.

    Raises
    ------
    InvalidTableError
        No column `target`, `lower` or `upper`, an empty target, a label given twice, or rows of one control that are
        about different attributes.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> from purtensor.calibration.controls import controls_of
    >>> frame = pd.DataFrame({"control": ["sex", "sex"], "sex": ["f", "m"], "target": [5.2, 4.8]})
    >>> controls_of(frame)
    (<count by sex: 2 targets>,)
    """
    table = _as_pandas(frame)
    if not any(name in table for name in (TARGET, LOWER, UPPER)):
        raise InvalidTableError(
            "a frame of controls must have a column 'target', or 'lower' and 'upper', got the columns "
            f"{join_some(table.columns)}"
        )
    if not len(table):
        raise InvalidTableError("the frame of controls must have at least one row, got none")
    if CONTROL not in table:
        table = table.assign(**{CONTROL: _names_by_attributes(table)})
    return tuple(_control(str(name), rows) for name, rows in table.groupby(CONTROL, sort=False, dropna=False))


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame of controls rather than constraints."""
    if isinstance(value, RowConstraint):
        return False
    return isinstance(nw.from_native(value, pass_through=True), nw.DataFrame | nw.LazyFrame)


def _are_constraints(value: Any) -> bool:
    if isinstance(value, RowConstraint):
        return True
    return isinstance(value, Sequence) and any(isinstance(item, RowConstraint) for item in value)


def _of_scopes(scopes: Scopes) -> tuple[Total, ...]:
    # a lower end of 0 always holds: these totals are for their rows only
    return tuple(total(1, by=scope, lower=0.0) for scope in read_scopes(scopes))


def _lines(control: Any, units: Units, *, empty: bool) -> list[dict[str, Any]]:
    """Return one row of the frame for each row of a control."""
    inner = control.constraint if isinstance(control, Soft | Between) else control
    if not isinstance(inner, Marginal | Total) or getattr(inner, "selection", None) is not None:
        raise InvalidOptionError(f"a template supports totals and marginals over all records, got {control!r}")
    block: RowBlock = control.rows(units.cells_for(control.attributes))
    sums = block.coefficients @ units.weights
    value = None if isinstance(inner, Marginal) or inner.values.counts else str(inner.values)
    names = [] if block.index is None else [str(name) for name in block.index.names]
    what = " ".join(map(str, names)) or "all"
    lines = []
    for row in range(block.count):
        label = () if block.index is None else block.index[row]
        label = tuple(own.item() if isinstance(own, np.bool_ | np.number) else own for own in label)
        line: dict[str, Any] = {
            CONTROL: what if value is None else f"{value} {what}",
            **dict(zip(names, label, strict=True)),
        }
        line[VALUE] = value
        line[SAMPLE] = float(sums[row])
        if empty:
            line[TARGET] = None
        else:
            line.update(_ends(block, row))
        lines.append(line)
    return lines


def _ends(block: RowBlock, row: int) -> dict[str, float | None]:
    low, high = float(block.lower[row]), float(block.upper[row])
    if low == high:
        found: dict[str, float | None] = {TARGET: low}
    else:
        # an infinite end is an empty cell
        found = {LOWER: low if np.isfinite(low) else None, UPPER: high if np.isfinite(high) else None}
    if block.softness is not None and block.softness.sd is not None:
        found[SD] = float(block.softness.sd[row])
    return found


def _is_used(name: str, lines: list[dict[str, Any]]) -> bool:
    return any(name in line for line in lines)


def _as_pandas(frame: Any) -> pd.DataFrame:
    native = nw.from_native(frame, pass_through=True)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if not isinstance(native, nw.DataFrame):
        raise InvalidTableError(f"controls must be a data frame, got {type(frame).__qualname__}")
    # as objects: labels keep their types, and whole numbers stay whole beside gaps
    return pd.DataFrame({name: pd.Series(native[name].to_list(), dtype=object) for name in native.columns})


def _names_by_attributes(table: pd.DataFrame) -> list[str]:
    """Return for each row which attributes it is about: rows about the same ones are one control."""
    attributes = [str(name) for name in table if name not in _OWN]
    values = table[VALUE] if VALUE in table else pd.Series([None] * len(table))
    return [
        " ".join(
            [*([] if pd.isna(value) else [str(value)]), *(str(name) for name in attributes if pd.notna(row[name]))]
        )
        for value, (_, row) in zip(values, table.iterrows(), strict=True)
    ]


def _control(name: str, rows: pd.DataFrame) -> Total | Soft:
    attributes = [column for column in rows if column not in _OWN]
    about = [column for column in attributes if rows[column].notna().any()]
    gaps = [column for column in about if rows[column].isna().any()]
    # a row is about the attributes whose cells are filled: gaps would be another control
    if gaps:
        raise InvalidTableError(
            f"the control {name!r} has rows with and without {gaps[0]!r}; use different names for rows over different "
            "attributes"
        )
    values: list[Any] = list(rows[VALUE].dropna().unique()) if VALUE in rows else []
    if len(values) > 1:
        raise InvalidTableError(
            f"the control {name!r} sums the different columns {join_some(values)}; use a different name for each"
        )
    # a control over no attribute has one row, with the empty label
    keys = list(zip(*(rows[column] for column in about), strict=True)) if about else [()] * len(rows)
    again = pd.Series(keys).duplicated().to_numpy()
    if again.any():
        label = ", ".join(f"{column}={value}" for column, value in zip(about, keys[int(again.argmax())], strict=True))
        raise InvalidTableError(f"the control {name!r} has {label or 'its only row'} twice")
    ends = {end: _numbers(rows, end, name) for end in (TARGET, LOWER, UPPER, SD)}
    if ends[TARGET] is not None and (ends[LOWER] is not None or ends[UPPER] is not None):
        raise InvalidTableError(
            f"the control {name!r} has both targets and lower or upper limits; give only one of them"
        )
    made = total(
        values[0] if len(values) else 1,
        by=tuple(map(str, about)),
        **{end: _label_values(keys, ends[end]) for end in (TARGET, LOWER, UPPER)},
    )
    sd = _label_values(keys, ends[SD])
    return made if sd is None else soft(made, sd=sd)


def _numbers(rows: pd.DataFrame, end: str, name: str) -> FloatArray | None:
    if end not in rows or rows[end].isna().all():
        if end == TARGET and not any(other in rows and rows[other].notna().any() for other in (LOWER, UPPER)):
            raise InvalidTableError(f"the control {name!r} has no target: fill in the column")
        return None

    def fail(row: int, what: str) -> Any:
        raise InvalidTableError(f"{end} of the control {name!r}, row {rows.index[row]} (counted from 0), {what}")

    column = nw.from_native(rows[end].reset_index(drop=True), series_only=True)
    if column.is_null().any():
        fail(int(np.flatnonzero(column.is_null().to_numpy())[0]), "is empty; fill it in, or remove the row")
    if not is_numeric(column):
        fail(0, f"must be a number, got {rows[end].iloc[0]!r}")
    return numbers_of(column, fail)


def _label_values(keys: list[tuple[Any, ...]], values: FloatArray | None) -> Any:
    if values is None:
        return None
    if keys[0] == ():
        return float(values[0])
    return {key[0] if len(key) == 1 else key: float(value) for key, value in zip(keys, values, strict=True)}
