"""Units with equal coefficients in all rows are one cell, and the projection over these groups.

Equal units get the same ratio, for any design weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.constraints.rows import KnownRows, RowBlock
from purtensor.errors import InfeasibleError, NotConvergedError
from purtensor.projection.deliver import require_uninterrupted
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.iterate import Solver

GROUP = "group"
"""The attribute of the table over merged units."""


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Units in groups of equals.

    Attributes
    ----------
    blocks
        The rows over the groups.
    group
        Shape (units,): the group of each unit, -1 where its design weight is 0.
    weights
        Shape (groups,): the sums of the design weights.
    limits
        Shape (k, groups): what else equal units have in common, such as bounds on their ratios.
    """

    blocks: tuple[RowBlock, ...]
    group: IntArray
    weights: FloatArray
    limits: FloatArray

    def table(self, values: FloatArray, name: str = "weight") -> Table:
        """Return numbers of the groups as a table."""
        return Table(values, dims=GROUP, coords={GROUP: np.arange(len(values))}, name=name)


def merge(blocks: Sequence[RowBlock], weights: FloatArray, limits: FloatArray) -> Merged:
    """Return the units merged where their columns and limits are equal; those without a design weight are left out."""
    used = np.flatnonzero(weights > 0)
    first, inverse = _equal_columns(blocks, used, limits[:, used])
    group = np.full(len(weights), -1)
    group[used] = inverse
    chosen = used[first]
    if len(chosen) == len(weights):  # nothing to merge
        return Merged(tuple(blocks), group, np.asarray(weights), limits)
    count = len(first)
    sums = np.bincount(inverse, weights=weights[used], minlength=count).astype(np.float64)
    return Merged(tuple(block.select_cells(chosen) for block in blocks), group, sums, limits[:, chosen])


def _equal_columns(blocks: Sequence[RowBlock], used: IntArray, more: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of each kind of equal columns, in order of occurrence, and the kind of every column.

    Equal columns have the same sum of random multiples; that those with the same sum are equal is checked, and where
    a sum deceives nothing is merged.
    """
    rng, count = np.random.default_rng(0), len(used)
    # a fixed seed: equal units must merge alike in every run; infinite limits count as -1, which none is
    keys = rng.normal(size=len(more)) @ np.where(np.isfinite(more), more, -1.0)
    for block in blocks:
        keys += np.asarray(block.coefficients.T @ rng.normal(size=block.count))[used]
    # one number per column is sorted instead of whole columns
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    alone = np.arange(count)
    if len(first) == count or not np.array_equal(more, more[:, first][:, inverse]):
        return alone, alone
    stacked = sparse.vstack([block.coefficients for block in blocks], format="csc")[:, used]
    # exact comparison: two different columns may share a random sum by rounding
    if (stacked != stacked[:, first][:, inverse]).nnz:
        return alone, alone
    # np.unique sorts by key, which is random: back to the order in which the units came
    order = np.argsort(first, kind="stable")
    place = np.empty(len(first), dtype=np.int64)
    place[order] = np.arange(len(first))
    return first[order], place[inverse]


_FAR = 0.1
"""From which relative difference on the sum of the design weights is far from the controls' total."""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The options of a calibration."""

    controls: tuple[Any, ...]
    options: GeneralOptions
    relative_to: str
    bounds: str
    bounded: bool
    limited: bool
    tolerance: float
    solver: Solver | None


def solve_groups(asked: Asked, merged: Merged, *, on_failure: str = "raise", start: Any = None) -> Projection:
    """Return the projection over groups of equal units, with bounds as they were asked."""
    f = merged.weights
    # limits of weights were divided by d per record: times the group's sum they are limits of its mass
    ratio, absolute = merged.limits[:2], merged.limits[2:] * f
    options = asked.options
    own_scale = asked.relative_to == "given"
    # relative to the weights as given, ratios are limits of masses too; else `project` scales the reference first
    if own_scale:
        absolute = np.stack([np.maximum(absolute[0], ratio[0] * f), np.minimum(absolute[1], ratio[1] * f)])
    cell_bounds = None if not asked.bounded else (merged.table(absolute[0]), merged.table(absolute[1]))
    ratio_bounds = None if not asked.bounded or own_scale else (merged.table(ratio[0]), merged.table(ratio[1]))
    try:
        return project(
            merged.table(f),
            [KnownRows(block, (GROUP,)) for block in merged.blocks],
            solver=asked.solver,
            tolerance=asked.tolerance,
            on_failure=on_failure,
            start=start,
            ratio_bounds=ratio_bounds,
            cell_bounds=cell_bounds,
            distance=options.distance,
            # a free total leaves the reference as it came; controls that fix the total still do
            total="free" if is_unscaled(asked) else options.total,
            size=options.size,
        )
    except InfeasibleError as error:
        raise InfeasibleError(
            _explain(error.reason, asked, merged, ratio_bounds, cell_bounds), error.diagnosis
        ) from None


def solve_next(asked: Asked, merged: Merged, *, start: Any = None) -> Projection:
    """Return one of many projections: Ctrl-C ends them all, where a single one would give its state."""
    try:
        return require_uninterrupted(solve_groups(asked, merged, start=start))
    except NotConvergedError as error:
        if error.interrupted:
            raise KeyboardInterrupt from None
        raise


def is_unscaled(asked: Asked) -> bool:
    """Return whether design weights stay unscaled: logit depends on their scale, which others share with the total."""
    own_logit = asked.options.distance == "logit" and asked.relative_to == "given"
    return asked.options.total == "free" or (own_logit and asked.options.total == "constrained")


def _explain(message: str, asked: Asked, merged: Merged, ratio_bounds: Any, cell_bounds: Any) -> str:
    """Return why nothing meets the controls, in the words of weights, with what to try."""
    generic = GeneralOptions(ratio_bounds, cell_bounds).in_words()
    if generic:
        # the solver speaks of cells and masses, which the caller has never seen
        message = message.replace(generic, f"with {asked.bounds}, ")
    beyond = _beyond_all(merged.blocks)
    if beyond:
        empty = message.startswith("targets and bounds of 0 exclude every profile")  # adds no information
        message = f"{beyond} exceeds the value of every record" + ("" if empty else f": {message}")
    given, wanted = float(merged.weights.sum()), find_total(merged.blocks)
    far = wanted is not None and abs(wanted - given) > _FAR * given
    if asked.bounded and asked.relative_to == "given" and far:
        message += (
            f"; the design weights sum to {given:g} and the controls to {wanted:g}: for bounds relative to weights "
            "scaled to the controls' total give relative_to='scaled'"
        )
    elif asked.bounded:
        message += "; for the tightest bounds that can be met, call tightest_bounds() of a calibration without bounds"
    return message


def find_total(blocks: Sequence[RowBlock]) -> float | None:
    """Return the sum of the weights that hard targets ask for; None where none of them counts every unit once."""
    for block in blocks:
        if block.softness is None and (block.lower == block.upper).all():
            sums = np.asarray(block.coefficients.sum(axis=0)).reshape(-1)
            # every unit counts once in all rows together: the targets sum to the total of the weights
            if np.allclose(sums, 1.0, rtol=0, atol=1e-12):
                return float(block.lower.sum())
    return None


def _beyond_all(blocks: Sequence[RowBlock]) -> str:
    """Name a hard row with target 0 to which all units contribute with the same sign; "" if there is none."""
    for block in blocks:
        if block.softness is not None:
            continue
        c = block.coefficients
        low, high = (np.asarray(end.todense()).reshape(-1) for end in (c.min(axis=1), c.max(axis=1)))
        alike = ((low > 0) & (block.upper <= 0)) | ((high < 0) & (block.lower >= 0))
        if alike.any():
            label = block.labels[int(np.flatnonzero(alike)[0])]
            return f"{block.name}, {label}" if label else block.name
    return ""
