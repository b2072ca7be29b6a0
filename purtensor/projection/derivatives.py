"""Derivatives of a projection with respect to its targets and its reference (notes/derivatives.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from purtensor._options import items_of
from purtensor._typing import FloatArray, Table
from purtensor.errors import InconsistentTargetsError, InvalidOptionError, InvalidTableError
from purtensor.projection.labels import tables_on_rows
from purtensor.solving.hessian.choice import hessian_of
from purtensor.solving.hessian.factored import Factored, solve_refined
from purtensor.solving.iterate import on_profiles, row_sums
from purtensor.solving.problem import LabelledProblem
from purtensor.tables.coded import domain_of, encode
from purtensor.tables.translate import values_at

_CONSISTENT = 1e-9
"""Of the largest change: what changes of the targets may miss that rows imply of each other."""


class Gradient(NamedTuple):
    """The derivatives of a number with respect to what a projection is made of.

    Attributes
    ----------
    targets
        One table per constraint, like its target: zero on rows that others imply, which leaves nothing out: targets
        can only change together with these.
    log_reference
        A table like the reference: with respect to the logarithms of its masses. Its sum is 0, for their scale does not
        matter.
    """

    targets: tuple[Table, ...]
    log_reference: Table


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """The linear map from changes of targets and reference to changes of the projection, and its transpose.

    Attributes
    ----------
    labelled
        The problem, on its face where there is one.
    q
        Shape (M,): the projection, of total 1.
    """

    labelled: LabelledProblem
    q: FloatArray
    _factored: Factored

    @classmethod
    def at(cls, labelled: LabelledProblem, masses: FloatArray) -> Derivatives:
        """Return the derivatives at the masses of a projection."""
        q = masses / masses.sum()
        # the matrix of Newton's method at the projection serves all right sides
        _, factored = hessian_of(labelled.arrays).factor_and_solve(q, np.zeros(labelled.arrays.system.rows))
        return cls(labelled, q, factored)

    def forward(self, targets: Sequence[Table | None] | None, log_reference: Table | None) -> Table:
        """Return the change of the projection that first-order changes of targets and reference make."""
        problem, total = self.labelled.arrays, self.labelled.total
        change = np.zeros(problem.system.rows) if targets is None else self._rows_of(targets) / total
        direct = np.zeros_like(self.q) if log_reference is None else self._profiles_of(log_reference)
        # dq = q (u + C^T dt), where dt makes up for what u alone does to the rows (notes/derivatives.md, equation 1)
        right = change - row_sums(problem.system, self.q * direct)
        potentials = solve_refined(problem, self._factored, self.q, right)
        moved = self.q * (direct + on_profiles(problem.system, potentials))
        if targets is not None:
            # dependent rows are dropped by the solve: only the result shows whether their changes fit the others
            self._require_consistent(row_sums(problem.system, moved) - change, float(np.abs(right).max()))
        return self.labelled.table(total * moved, name="change")

    def backward(self, gradient: Table) -> Gradient:
        """Return the derivatives of a number, given those with respect to the masses of the projection."""
        problem, total = self.labelled.arrays, self.labelled.total
        # the adjoint: one solve whatever the number of targets (notes/derivatives.md, equation 2)
        slope = self._profiles_of(gradient)
        right = row_sums(problem.system, self.q * slope)
        potentials = solve_refined(problem, self._factored, self.q, right)
        log_reference = self.q * (slope - on_profiles(problem.system, potentials))
        return Gradient(self._tables_of(potentials), self.labelled.table(total * log_reference, name="derivative"))

    def _profiles_of(self, table: Table) -> FloatArray:
        """Return the values of a table at the profiles of the projection; 0 where it does not list one."""
        coded = encode(self.labelled.template, copy=False)
        given = domain_of(table).attributes
        if set(given) != set(coded.domain.attributes):
            raise InvalidTableError(
                f"the table must be over ({', '.join(coded.domain.attributes)}), got one over ({', '.join(given)})"
            )
        return _finite(values_at(table, coded.domain, coded.codes)[self.labelled.profiles])

    def _rows_of(self, targets: Sequence[Table | None]) -> FloatArray:
        full, rows = self.labelled.full, self.labelled.rows
        given = None if isinstance(targets, Table) else items_of(targets)
        if given is None or len(given) != len(full.scopes):
            raise InvalidOptionError(
                f"targets must be one table or None for each of the {len(full.scopes)} constraints, got "
                f"{type(targets).__qualname__ if given is None else len(given)}"
            )
        values = np.zeros(full.rows)
        for k, table in enumerate(given):
            if table is None:
                continue
            scope = full.scopes[k]
            if set(domain_of(table).attributes) != set(scope):
                raise InvalidTableError(
                    f"the change of target {k} must be over ({', '.join(scope)}), got one over "
                    f"({', '.join(domain_of(table).attributes)})"
                )
            values[full.block(k)] = _finite(values_at(table, full.domain.select(scope), full.row_codes[k]))
            # a change that the look-up did not find has been lost: it must not be ignored
            if not np.isclose(np.abs(values[full.block(k)]).sum(), np.abs(table.values).sum(), rtol=1e-12, atol=0.0):
                raise InvalidTableError(
                    f"the change of target {k} has values at profiles that the target does not have"
                )
        # rows that left the problem: zero targets, and those that a face has emptied
        fixed = np.ones(full.rows, dtype=bool)
        fixed[rows] = False
        if values[fixed].any():
            raise InvalidOptionError(
                "targets that are 0, or whose profiles the constraints force to 0, must not change: there the "
                "projection has one-sided derivatives only"
            )
        return values[rows]

    def _require_consistent(self, misses: FloatArray, size: float) -> None:
        missed = np.abs(misses)
        if missed.max() > _CONSISTENT * size:
            # the last constraint that begins at the row or before it
            block = int(np.searchsorted(self.labelled.arrays.system.offsets, missed.argmax(), side="right")) - 1
            scope = ", ".join(self.labelled.full.scopes[block])
            raise InconsistentTargetsError(
                f"the changes of the targets contradict each other on shared marginals: by "
                f"{missed.max() * self.labelled.total:.3g} in ({scope}); changes must agree on shared marginals and "
                "in their totals"
            )

    def _tables_of(self, potentials: FloatArray) -> tuple[Table, ...]:
        # rows that left the problem keep the derivative 0
        values = np.zeros(self.labelled.full.rows)
        values[self.labelled.rows] = potentials
        return tables_on_rows(self.labelled, values, 0.0, "derivative")


def _finite(values: FloatArray) -> FloatArray:
    if not np.isfinite(values).all():
        raise InvalidTableError("changes and derivatives must be finite numbers, got NaN or infinity")
    return values
