"""Calibration: the weights nearest to the design weights that meet controls of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from purtensor._options import check_choice, is_number
from purtensor._typing import FloatArray
from purtensor.calibration.controls import controls_of, is_frame
from purtensor.calibration.groups import Asked, merge, solve_groups
from purtensor.calibration.result import Calibration
from purtensor.calibration.units import Units, read_units
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rows import RowBlock
from purtensor.constraints.totals import Total
from purtensor.errors import InfeasibleError, InvalidOptionError, InvalidTableError
from purtensor.records.tabulate import tabulate
from purtensor.solving.dual.centring import is_partition
from purtensor.solving.dual.options import GeneralOptions, bounds_in_words, general_constraints
from purtensor.solving.iterate import Solver


def calibrate(
    records: Any,
    constraints: Any,
    *,
    weights: Any = None,
    bounds: Any = None,
    weight_bounds: Any = None,
    relative_to: str = "given",
    members: Any = None,
    key: str | None = None,
    distance: str = "kl",
    total: str | float = "constrained",
    size: float | None = None,
    solver: Solver | None = None,
    tolerance: float = 1e-10,
    on_failure: str = "raise",
    replicates: Any = None,
) -> Calibration:
    """Return weights for the records that meet the controls and are as close as possible to the design weights.

    The weights minimise the distance to the design weights, summed over the records: sum w log(w / d) - w + d with
    "kl" (raking), sum (w - d)^2 / 2d with "linear" (the regression estimator), or the bounded "logit" of Deville and
    Särndal. Records that no control distinguishes are solved as one group and get the same ratio w / d.

    Parameters
    ----------
    records
        A data frame of pandas, polars or pyarrow, or a dict of arrays, with one row per record.
    constraints
        Controls of any kind: Marginals, `total`, `mean`, `share`, `Linear`, intervals, soft targets. Their attributes
        are columns of the records, or of the members. Or a frame of controls in the layout of `template`.
    weights
        The design weights: the name of a column, or one number per record; 1 for each record when None. Weights of 0
        remain 0.
    bounds
        A pair (lower, upper) on the ratios w / d, each a number, one number per record, or None.
    weight_bounds
        The same on the weights themselves.
    relative_to
        Whether `bounds` are relative to the design weights as "given", or "scaled" to the total of the controls.
    members
        A second frame with the members of the records, such as the persons of households; each row belongs to the
        record with the same `key`. Controls on its columns count members, and the distance is summed over records.
        Such controls may also use columns of the records.
    key
        The column that links records and members. Without `members`, records with the same key share a weight, and the
        distance is summed over records.
    distance
        "kl", "linear" or "logit"; "logit" needs bounds strictly around 1.
    total, size
        As in `project`: the sum of the weights, and the sample size for the standard errors of controls.
    solver, tolerance, on_failure
        As in `project`.
    replicates
        Replicate weights of the design, which are calibrated in the same way: an array of shape (records, replicates),
        or the names of columns. For those of a bootstrap see `Calibration.bootstrap`.

    Returns
    -------
    Calibration
        The weights, in the library and with the index of the records, with certificate, design effect and estimates.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InvalidOptionError
        The input is invalid; raised before any solve, with the name of the column, row or control.
    InfeasibleError
        No weights within the bounds meet the controls; the message states how far each control can be met.
    NotConvergedError
        The solver ended for any other reason without convergence.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")}
    >>> controls = [
    ...     pt.total(1, by="sex", target={"f": 5.2, "m": 4.8}),
    ...     pt.total(1, by="age", target={"y": 6.5, "o": 3.5}),
    ... ]
    >>> c = pt.calibrate(people, controls, bounds=(0.55, 2.5))
    >>> c.weights.round(4).tolist()
    [1.55, 1.55, 1.55, 0.55, 1.85, 0.59, 0.59, 0.59, 0.59, 0.59]
    >>> round(c.deff, 4)
    1.2673
    """
    check_choice("relative_to", relative_to, ("given", "scaled"))
    controls = controls_of(constraints) if is_frame(constraints) else general_constraints(constraints)
    options = GeneralOptions(None, None, distance, total, size, False)
    attributes = tuple(dict.fromkeys(name for control in controls for name in control.attributes))
    units = read_units(records, attributes, weights=weights, members=members, key=key)
    # plain marginals that disagree are refused before any solve, in the words of their shared attributes
    _check_totals(controls, [_as_given(control) for control in controls], units)
    # limits are per unit before merging: units with different limits must not share a ratio
    limits = _limits(units, bounds, weight_bounds)
    blocks = [_rows(control, units) for control in controls]
    merged = merge(blocks, units.weights, limits)
    asked = Asked(
        controls=controls,
        options=options,
        relative_to=relative_to,
        bounds=_in_words(bounds, weight_bounds),
        # rows 0 and 2 of the limits are lower ends, 1 and 3 upper ones
        bounded=bool(np.isfinite(limits[1::2]).any() or (limits[::2] > 0).any()),
        limited=weight_bounds is not None,
        tolerance=tolerance,
        solver=solver,
    )
    try:
        result = solve_groups(asked, merged, on_failure=on_failure)
    except InfeasibleError:
        counts = [_as_counts(control, block) for control, block in zip(controls, blocks, strict=True)]
        _check_totals(controls, counts, units)  # the shorter reason, where it is one
        raise
    made = Calibration(records, units, merged, asked, result, members=members)
    return made if replicates is None else replace(made, replicates=made.refitted(replicates))


def _rows(control: Any, units: Units) -> RowBlock:
    cells = units.cells_for(control.attributes)
    block: RowBlock = control.rows(cells)
    block.coefficients.sum_duplicates()  # sorts, which every absolute value would do again
    # counts by group of the units themselves are a marginal, of persons of households they are none
    return replace(block, is_marginal=block.softness is None and is_partition(block.coefficients))


def _check_totals(controls: Sequence[Any], marginals: Sequence[Marginal | None], units: Units) -> None:
    """Refuse hard marginals of the same kind of unit that disagree on what they share, naming both numbers."""
    # counts of households and counts of persons have different totals, and do not contradict each other
    for cells in (units.own, units.persons):
        own = [
            marginal
            for control, marginal in zip(controls, marginals, strict=True)
            if marginal is not None and cells is not None and units.cells_for(control.attributes) is cells
        ]
        if len(own) > 1:
            check_consistency(own)


def _as_given(control: Any) -> Marginal | None:
    return control if isinstance(control, Marginal) and control.coded_target is not None else None


def _as_counts(control: Any, block: RowBlock) -> Marginal | None:
    """Return a control as a marginal, where it counts all units by attributes."""
    counts = isinstance(control, Total) and control.values.counts and control.selection is None
    # only equalities on counts of at least 0 can be read as the masses of a marginal
    if not counts or block.index is None or not (block.equalities & (block.lower >= 0)).all():
        return _as_given(control)
    return Marginal(tabulate(block.index.to_frame(index=False), weights=block.lower))


def _limits(units: Units, bounds: Any, weight_bounds: Any) -> FloatArray:
    """Return bounds on the ratios, then those that bounds on the weights mean for them: shape (4, units)."""
    count, d = len(units.weights), units.per_record
    ratio = _pair(bounds, "bounds", len(d))
    weight = _pair(weight_bounds, "weight_bounds", len(d))
    with np.errstate(divide="ignore", invalid="ignore"):
        per_record = np.stack([*ratio, *(np.where(d > 0, end / d, np.nan) for end in weight)])
    found = np.tile(np.array([[0.0], [np.inf], [0.0], [np.inf]]), (1, count))
    # records with a design weight of 0 keep weight 0, and must not tighten the limits of their unit
    used = d > 0
    # a unit's ratio lies within the limits of all its records: the largest lower end, the smallest upper one
    for k, take in enumerate((np.maximum, np.minimum, np.maximum, np.minimum)):
        take.at(found[k], units.records[used], per_record[k][used])
    return found


def _pair(pair: Any, name: str, count: int) -> tuple[FloatArray, FloatArray]:
    if pair is None:
        return np.zeros(count), np.full(count, np.inf)
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise InvalidOptionError(f"{name} must be a pair (lower, upper), with None for no limit, got {pair!r:.60}")
    ends = []
    for value, missing in zip(pair, (0.0, np.inf), strict=True):
        if value is not None and not is_number(value) and np.shape(value) != (count,):
            raise InvalidTableError(f"{name} must be a number, or have one number for each of the {count} records")
        ends.append(np.broadcast_to(np.asarray(missing if value is None else value, dtype=np.float64), count).copy())
    low, high = ends
    # negated, so that NaN is refused too
    wrong = np.flatnonzero(~((low >= 0) & (low <= high)))
    if len(wrong):
        row = int(wrong[0])
        raise InvalidOptionError(
            f"{name} must be an interval of numbers of at least 0, got {low[row]:g} to {high[row]:g}"
            + ("" if is_number(pair[0]) and is_number(pair[1]) else f" for row {row}, counted from 0")
        )
    return low, high


def _in_words(bounds: Any, weight_bounds: Any) -> str:
    pairs = ((bounds, " times"), (weight_bounds, ""))
    words = [bounds_in_words(pair, unit, "on each record's weight") for pair, unit in pairs if pair is not None]
    return " and ".join(filter(None, words))
