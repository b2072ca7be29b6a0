"""The verdict on a table in memory and marginals, in labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from purtensor._typing import IntArray, Table
from purtensor.constraints.marginals import Marginal
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.feasibility.finding import Finding, find
from purtensor.feasibility.memory_witness import MemoryWitness
from purtensor.tables.coded import dense_table, is_sparse, sparse_table


def diagnose_table(reference: Table, constraints: Sequence[Marginal]) -> Diagnosis:
    """Return whether marginals with targets can be met on the support of a table in memory.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Naming what does not fit.
    """
    flat = tuple(constraints)
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
