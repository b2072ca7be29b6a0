"""The kernels of a projection in numpy: what the compiled ones are copies of, and what small problems run in.

A kernel that has no form here is compiled whenever it is called.
"""

from __future__ import annotations

from typing import Any

from purtensor.kernels.codes import counting_order
from purtensor.kernels.ipf.over_relaxation import least_share
from purtensor.kernels.ipf.product_proof import proof_terms
from purtensor.kernels.ipf.slab_sweeps import largest_of_octet, sum_octet
from purtensor.kernels.newton.linear_sweep import leave_dependent_rows
from purtensor.kernels.numpy_forms import (
    layouts,
    newton,
    proof,
    ranks,
    relaxed_sweeps,
    sums,
    sweeps,
)
from purtensor.kernels.rank import heaviest_forest
from purtensor.kernels.sampling.rounding import next_edge, round_flow, shift_cycle

_PYTHON = (
    heaviest_forest.list_leaves,
    heaviest_forest.reach,
    heaviest_forest.route,
    heaviest_forest.tree_parents,
    largest_of_octet,
    leave_dependent_rows,
    least_share,
    next_edge,
    proof_terms,
    round_flow,
    shift_cycle,
    sum_octet,
)
"""Kernels with little to do where numpy serves, such as a step for each row: they run as the Python that they are."""

FORMS: dict[Any, Any] = {
    **{kernel: getattr(kernel, "py_func", kernel) for kernel in _PYTHON},
    **sums.FORMS,
    **layouts.FORMS,
    **sweeps.FORMS,
    **relaxed_sweeps.FORMS,
    **newton.FORMS,
    **proof.FORMS,
    **ranks.FORMS,
}
"""For each kernel that has one its form in numpy."""

ALONE = frozenset({*sums.ALONE, counting_order})
"""Kernels that are called on tables, before any problem is there to choose for: the size of their array decides."""
