"""The verdict on a reference and constraints, in labels."""

from __future__ import annotations

from typing import Any, cast, overload

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.constraints.marginals import Constraints, Marginal, as_constraints
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.finding import Finding, find
from purtensor.feasibility.memory_witness import MemoryWitness
from purtensor.feasibility.mixed_verdict import MixedVerdict, judge
from purtensor.solving.dual.labelled import Bounds, GeneralOptions, build_question, general_constraints, is_plain
from purtensor.tables.coded import dense_table, is_sparse, sparse_table
from purtensor.tables.dispatch import engine_of
from purtensor.tables.store.open_store import StoredTable


@overload
def diagnose(reference: Table | StoredTable, constraints: Constraints) -> Diagnosis: ...
@overload
def diagnose(
    reference: Table | StoredTable,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis | MixedVerdict: ...
def diagnose(
    reference: Table | StoredTable,
    constraints: Any,
    *,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    total: str | float = "constrained",
    signed: bool = False,
) -> Diagnosis | MixedVerdict:
    """Return whether the constraints can be met on the support of the reference, proved and explained.

    Parameters
    ----------
    reference
        A table; only where it has mass matters. A stored table, or one of chunks of dask, is diagnosed slab by slab,
        and what proves the verdict stays on disk.
    constraints
        A constraint of any kind, or an iterable of them, flattened one level.
    ratio_bounds, cell_bounds, total, signed
        As in `project`. With them, or with constraints other than Marginals with targets, the answer is a MixedVerdict:
        its `explanation` says how far rows can reach within the bounds.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Naming what does not fit.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.tabulate({"hired": ["no", "yes", "no"], "sex": ["f", "m", "m"], "team": ["a", "b", "b"]})
    >>> diagnosis = pt.diagnose(f, pt.pur(f, response="hired", protected="sex"))
    >>> str(diagnosis.verdict), diagnosis.verify()
    ('infeasible', True)
    """
    elsewhere = engine_of(reference, "diagnose")
    options = GeneralOptions(ratio_bounds, cell_bounds, "kl", total, None, signed)
    if elsewhere is not None:
        if not options.plain:
            raise InvalidOptionError("tables on disk are diagnosed with marginals only, without bounds or totals")
        told: Diagnosis = elsewhere(reference, constraints)
        return told
    reference = cast(Table, reference)
    given = general_constraints(constraints)
    if not is_plain(given, options):
        asked = build_question(reference, given, options).question
        return judge(asked, options.in_words())
    flat = as_constraints(given)
    found = find(reference, flat)
    coded, settled = found.coded, found.settled
    rows = np.flatnonzero(settled.zeros)
    empty = sparse_table(coded.domain, [code[rows] for code in coded.codes], coded.values[rows], name="implied zeros")
    certificate: tuple[Table, ...] = ()
    if settled.weights is not None:
        certificate = tuple(_weights_table(found, settled.weights, k, target) for k, target in enumerate(flat))
    solution = None
    if settled.solution is not None:
        solution = coded.rebuild(settled.solution * flat[0].total, name="solution")
    return Diagnosis(
        verdict=settled.verdict,
        certificate=certificate,
        exact=settled.arithmetic,
        reference=reference,
        constraints=flat,
        evidence=MemoryWitness(found, empty, solution),
    )


def _weights_table(found: Finding, weights: IntArray, k: int, constraint: Marginal) -> Table:
    system = found.system
    domain = system.domain.select(system.scopes[k])
    values = weights[system.block(k)]
    if is_sparse(constraint.target):
        return sparse_table(domain, system.row_codes[k], values, name="certificate")
    dense = np.zeros(domain.sizes, dtype=values.dtype)
    dense[tuple(system.row_codes[k])] = values
    return dense_table(domain, dense, name="certificate")
