"""Constraints in integer codes: which row of each constraint every profile of the support belongs to.

This is the coefficient matrix C in its most compact form: column i of C has a one in row
`offsets[k] + index[k, i]` for each constraint k, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.constraints.marginals import Marginal
from purtensor.errors import UnknownCategoryError
from purtensor.tables.coded import CodedTable, described
from purtensor.tables.domain import Domain, listed
from purtensor.tables.grouping import group_profiles, smallest_unsigned
from purtensor.tables.translate import category_map


@dataclass(frozen=True, slots=True, eq=False)
class System:
    """The constraints C p = b on a support of M profiles, K constraints, D rows in all.

    Attributes
    ----------
    index
        Shape (K, M): the row of each profile within each constraint, in the smallest unsigned type that serves.
    offsets
        Shape (K + 1,): where the rows of each constraint begin among all rows.
    targets
        Shape (D,): b, in the units in which the targets came.
    domain
        The domain of the reference, in whose categories `row_codes` are written.
    scopes, row_codes
        For each constraint its attributes, and for each of them the category code of every row.
    """

    index: IntArray
    offsets: IntArray
    targets: FloatArray
    domain: Domain
    scopes: tuple[tuple[str, ...], ...]
    row_codes: tuple[tuple[IntArray, ...], ...]

    @property
    def profiles(self) -> int:
        """The number of profiles of the support."""
        return int(self.index.shape[1])

    @property
    def rows(self) -> int:
        """The number of rows of all constraints."""
        return int(self.offsets[-1])

    def block(self, k: int) -> slice:
        """Return where the rows of constraint k stand among all rows."""
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))

    def with_targets(self, targets: FloatArray) -> System:
        """Return the same rows with other targets."""
        return replace(self, targets=targets)

    def row_label(self, row: int) -> str:
        """Return a row as text, such as 'sex=male, age=young'."""
        k = int(np.searchsorted(self.offsets, row, side="right")) - 1
        local = row - int(self.offsets[k])
        return described(self.domain.select(self.scopes[k]), [code[local] for code in self.row_codes[k]])

    def supported(self) -> BoolArray:
        """Return for each row whether a profile of the support belongs to it."""
        found = np.zeros(self.rows, dtype=bool)
        for k in range(len(self.scopes)):
            found[self.block(k)][self.index[k]] = True
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A system without its zero targets: `profiles` and `rows` say what of the full system is left."""

    system: System
    profiles: IntArray
    rows: IntArray


def align(reference: CodedTable, constraints: Sequence[Marginal]) -> System:
    """Return the constraints on the support of the reference, aligned by attribute name and category label.

    The rows of a constraint are the profiles of its scope with mass in the reference or in the target, in the
    category order of the reference.

    Raises
    ------
    UnknownAttributeError
        A target is over an attribute that the reference lacks.
    UnknownCategoryError
        A target gives mass to a category that the reference does not know, or the reference has mass in one that
        the target does not know.
    """
    indices, targets, row_codes = [], [], []
    for constraint in constraints:
        index, target, codes = _align_one(reference, constraint)
        indices.append(index)
        targets.append(target)
        row_codes.append(codes)
    sizes = [len(target) for target in targets]
    kind = smallest_unsigned(max(sizes))
    index_of_all = np.empty((len(sizes), len(reference.values)), dtype=kind)
    for k, index in enumerate(indices):
        index_of_all[k] = index
    return System(
        index=index_of_all,
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate(targets),
        domain=reference.domain,
        scopes=tuple(constraint.scope for constraint in constraints),
        row_codes=tuple(row_codes),
    )


def _align_one(reference: CodedTable, constraint: Marginal) -> tuple[IntArray, FloatArray, tuple[IntArray, ...]]:
    scope, target = constraint.scope, constraint.coded
    onto = reference.domain.select(scope)
    support = reference.columns(scope)
    target_codes = []
    for name, categories, column, own, known in zip(
        scope, onto.categories, support, target.codes, target.domain.categories, strict=True
    ):
        mapping = category_map(known, categories)
        if len(own) and mapping[own].min() < 0:
            _refuse(name, known[own[np.argmin(mapping[own])]], known=categories, of="the target", lacks="the reference")
        reached = np.zeros(len(categories), dtype=bool)
        reached[mapping[mapping >= 0]] = True
        if not reached.all():
            lost = column[~reached[column]]
            if len(lost):
                _refuse(name, categories[lost[0]], known=known, of="the reference", lacks="the target")
        target_codes.append(mapping[own])
    joint = [np.concatenate([column, codes]) for column, codes in zip(support, target_codes, strict=True)]
    group, row_codes = group_profiles(joint, onto.sizes)
    count = len(row_codes[0])
    values = np.zeros(count)
    profiles = len(reference.values)
    values[group[profiles:]] = target.values
    return group[:profiles].astype(smallest_unsigned(count)), values, row_codes


def _refuse(attribute: str, category: object, *, known: Iterable[object], of: str, lacks: str) -> None:
    raise UnknownCategoryError(
        f"{of} has mass in {attribute}={category}, a category that {lacks} does not have (it has {listed(known)}); "
        "labels are compared with their types, and a category that must be empty is listed with target 0"
    )


def reduce_system(system: System) -> Reduction:
    """Return the system without zero targets: their profiles and their rows are removed, to a fixed point.

    Removing profiles makes no new zero target, so one pass over the profiles reaches it; rows whose profiles all
    went although their target is positive stay, without support, and make the problem infeasible.
    """
    zero = system.targets == 0.0
    if not zero.any():
        return Reduction(system, np.arange(system.profiles), np.arange(system.rows))
    keep = np.ones(system.profiles, dtype=bool)
    for k in range(len(system.scopes)):
        keep &= ~zero[system.block(k)][system.index[k]]
    profiles = np.flatnonzero(keep)
    indices, sizes, row_codes, targets = [], [], [], []
    for k, codes in enumerate(system.row_codes):
        block = system.block(k)
        stays = ~zero[block]
        new_row = np.cumsum(stays) - 1
        indices.append(new_row[system.index[k][profiles]])
        sizes.append(int(stays.sum()))
        row_codes.append(tuple(code[stays] for code in codes))
        targets.append(system.targets[block][stays])
    reduced = System(
        index=np.array(indices, dtype=smallest_unsigned(max(sizes))),
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        targets=np.concatenate(targets),
        domain=system.domain,
        scopes=system.scopes,
        row_codes=tuple(row_codes),
    )
    return Reduction(reduced, profiles, np.flatnonzero(~zero))


def submatrix(system: System, profiles: IntArray) -> System:
    """Return the system on fewer profiles, all rows kept."""
    return replace(system, index=np.ascontiguousarray(system.index[:, profiles]))
