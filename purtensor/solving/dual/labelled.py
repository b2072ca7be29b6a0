"""Questions with rows of any kind, bounds, other distances and free totals: from labels to arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse

from purtensor._options import is_number
from purtensor._typing import FloatArray, Table
from purtensor.constraints.consistency import check_consistency
from purtensor.constraints.marginals import Marginal
from purtensor.constraints.rows import RowBlock, cells_of
from purtensor.errors import InconsistentTargetsError, InvalidOptionError, InvalidTableError
from purtensor.solving.dual.options import Bound, GeneralOptions
from purtensor.solving.dual.question import Question
from purtensor.solving.scaling import scale_to
from purtensor.tables.coded import CodedTable, domain_of, encode
from purtensor.tables.translate import values_at


@dataclass(frozen=True, slots=True, eq=False)
class LabelledQuestion:
    """A question with its way back to labels."""

    question: Question
    coded: CodedTable
    constraints: tuple[Any, ...]
    options: GeneralOptions
    reference: Table

    def table(self, values: FloatArray, name: str) -> Table:
        """Return values of the cells as a table like the reference."""
        return self.coded.rebuild(values, name=name)

    @property
    def signs(self) -> FloatArray | float:
        """The signs of the cells."""
        return 1.0 if self.question.signs is None else self.question.signs


def build_question(reference: Table, constraints: Sequence[Any], options: GeneralOptions) -> LabelledQuestion:
    """Return the problem in arrays; invalid input raises an error that names it."""
    coded, signs = encode_with_signs(reference, signed=options.signed)
    cells = cells_of(coded)
    # said here in the words of marginals; later it would only be an infeasible row
    if not (options.signed or options.may_be_negative):
        _refuse_negative_targets(constraints)
    blocks = [constraint.rows(cells) for constraint in constraints]
    hard = [
        one
        for one, block in zip(constraints, blocks, strict=True)
        if isinstance(one, Marginal) and block.is_marginal and block.softness is None
    ]
    if len(hard) > 1 and not options.signed:
        check_consistency(hard)
    f = coded.values
    fixed = _find_total(blocks, len(f), signs)
    if options.total == "constrained" and fixed is None and not options.signed:
        raise InvalidOptionError("no hard constraint fixes the total: set total= to a number, 'reference', or 'free'")
    if isinstance(options.total, str):
        total = fixed if options.total == "constrained" and fixed is not None else float(f.sum())
    else:
        total = float(options.total)
    # "constrained" and "free" add no row
    asks_total = options.total == "reference" or not isinstance(options.total, str)
    if asks_total:
        # sums of targets come with rounding, a number that was typed does not
        if fixed is not None and abs(fixed - total) > 1e-12 * total:
            raise InconsistentTargetsError(f"total={total:g} but the total of the hard constraints is {fixed:g}")
        if fixed is None:
            ones = sparse.csr_array(np.ones((1, len(f))) if signs is None else signs[None, :])
            blocks.append(RowBlock("total", ("",), ones, np.array([total]), np.array([total])))
    # the divergence from the reference as it came is part of the question, so it is not scaled
    if options.signed or options.total == "free":
        scaled, total = f, float(f.sum()) if options.total == "free" or fixed is None else total
    else:
        scaled = scale_to(f, total)
    if (
        options.size is None
        # shares: their total says nothing of how many records the errors are of
        and abs(total - 1.0) < 1e-9
        and any(
            block.softness is not None and (block.softness.sd is not None or block.softness.covariance is not None)
            for block in blocks
        )
    ):
        raise InvalidOptionError(
            "sd= and covariance= are errors of a sample: with a total of 1 also give size=, the size of the sample"
        )
    lower, upper = _cell_limits(coded, scaled, options)
    question = Question(
        reference=scaled,
        blocks=tuple(blocks),
        lower=lower,
        upper=upper,
        total=float(np.abs(f).sum()) if options.signed else total,
        distance=options.distance,
        size=options.size,
        signs=signs,
        fixed_total=(fixed is not None or asks_total) and not options.signed,
        describe=coded.describe,
    )
    _require_denominators(question)
    return LabelledQuestion(question, coded, tuple(constraints), options, reference)


def encode_with_signs(reference: Table, *, signed: bool) -> tuple[CodedTable, FloatArray | None]:
    """Return the support of a reference in codes, and the signs of its masses where some are negative."""
    if not signed:
        try:
            return encode(reference), None
        except InvalidTableError as error:
            # the error of `encode`, with what to type where negative entries are meant
            if "not negative" in str(error) and (np.asarray(reference.values) < 0).any():
                raise InvalidTableError(f"{error}; for a reference with negative entries use signed=True") from None
            raise
    domain_of(reference)
    coded = encode(abs(reference))
    signs = np.sign(np.asarray(reference.values, dtype=np.float64).reshape(-1)[coded.positions])
    return coded, signs if (signs < 0).any() else None


def _refuse_negative_targets(constraints: Sequence[Any]) -> None:
    """Refuse hard marginals that masses cannot meet, naming the profile."""
    for constraint in constraints:
        if not isinstance(constraint, Marginal) or constraint.target is None or constraint.coded_target is not None:
            continue
        try:
            _ = constraint.coded
        except InvalidTableError as error:
            if not (np.asarray(constraint.target.values) < 0).any():
                raise
            raise InvalidTableError(
                f"{error}; a negative target can be approached (purtensor.soft), or met if the reference also "
                "has negative entries (signed=True)"
            ) from None


def _find_total(blocks: Sequence[RowBlock], cells: int, signs: FloatArray | None) -> float | None:
    """Return the total that hard rows fix: a marginal, or a row that counts every cell alike."""
    for block in blocks:
        if block.softness is None and block.is_marginal and block.equalities.all():
            return float(block.lower.sum())
    for block in blocks:
        equal = np.flatnonzero(block.equalities)
        for row in equal:
            # any coefficient will do, if it is the same for all cells
            own = block.coefficients[[int(row)]]
            if own.nnz == cells and np.all(own.data == own.data[0]):
                return float(block.lower[row] / own.data[0])
        # persons who share a weight add to their groups by shares that sum to one
        if len(equal) == block.count and np.allclose(block.coefficients.sum(axis=0), 1.0, rtol=0.0, atol=1e-14):
            return float(block.lower.sum())
    return None


def _cell_limits(coded: CodedTable, scaled: FloatArray, options: GeneralOptions) -> tuple[FloatArray, FloatArray]:
    nothing = -np.inf if options.may_be_negative else 0.0
    lower, upper = np.full(len(scaled), nothing), np.full(len(scaled), np.inf)
    for name, unit in (("ratio_bounds", scaled), ("cell_bounds", np.ones(len(scaled)))):
        given = getattr(options, name)
        if given is None:
            continue
        low = _end(coded, given[0], 0.0, name)
        high = _end(coded, given[1], np.inf, name)
        lower = np.maximum(lower, low * unit)
        upper = np.minimum(upper, np.where(np.isinf(high), np.inf, np.where(np.isinf(high), 0.0, high) * unit))
        if name == "cell_bounds" and isinstance(given[0], xr.DataArray):
            # what the table of bounds holds beyond the support: mass that no cell could have
            outside = float(np.asarray(given[0].values, dtype=np.float64).sum()) - float(low.sum())
            if outside > 1e-9 * max(1.0, float(low.sum())):
                raise InvalidTableError(
                    "cell_bounds has a positive lower bound on a profile without mass in the reference: give the "
                    "reference mass there, or remove the bound"
                )
    crossed = np.flatnonzero(lower > upper)
    if len(crossed):
        cell = int(crossed[0])
        raise InvalidOptionError(
            f"the bounds of {coded.describe(cell)} cross: lower {lower[cell]:g}, upper {upper[cell]:g}"
        )
    return lower, upper


def _end(coded: CodedTable, given: Bound, missing: float, name: str) -> FloatArray:
    count = len(coded.values)
    if given is None:
        return np.full(count, missing)
    if is_number(given):
        if given < 0:
            raise InvalidOptionError(f"{name} must not be negative, got {given!r}")
        return np.full(count, float(given))
    if not isinstance(given, xr.DataArray):
        raise InvalidOptionError(f"{name} must be numbers or tables, got {type(given).__qualname__}")
    scope = domain_of(given).attributes
    domain = coded.domain.select(scope)
    codes = coded.columns(scope)
    values = values_at(given, domain, codes)
    # a bound of 0 and one that is not given look alike in `values`
    listed = values_at(xr.ones_like(given, dtype=np.float64), domain, codes) > 0.0
    if np.isnan(values).any() or (values < 0).any():
        raise InvalidTableError(f"{name} must not have negative numbers")
    return np.where(listed, values, missing)


def _require_denominators(question: Question) -> None:
    """Refuse constraints on rates whose denominators no hard rows fix."""
    wanted = [(block, block.denominators) for block in question.blocks if block.denominators is not None]
    if not wanted:
        return
    equal = np.concatenate([block.equalities for block in question.blocks])
    fixed = question.coefficients[np.flatnonzero(equal)].toarray()
    for block, rows in wanted:
        asked = rows.toarray()
        if not len(fixed):
            raise InvalidOptionError(block.denominators_say)
        # a denominator is fixed where it is a combination of rows that are equalities
        found = np.linalg.lstsq(fixed.T, asked.T, rcond=None)[0]
        if np.abs(fixed.T @ found - asked.T).max(initial=0.0) > 1e-9:
            raise InvalidOptionError(block.denominators_say)
