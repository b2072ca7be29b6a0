"""The kernels of a projection in numpy: what the compiled ones are copies of, and what small problems run in.

A kernel that has no form here is compiled whenever it is called.
"""

from __future__ import annotations

from purtensor.kernels.ipf.over_relaxation import least_share
from purtensor.kernels.ipf.product_proof import proof_terms
from purtensor.kernels.newton.linear_sweep import leave_dependent_rows
from purtensor.kernels.numpy_forms import (
    heaviest_forests,
    layouts,
    newton,
    proof,
    ranks,
    relaxed_sweeps,
    sums,
    sweeps,
)
from purtensor.kernels.numpy_forms.forms import Forms
from purtensor.kernels.sampling.rounding import next_edge, round_flow, shift_cycle
from purtensor.kernels.slabs import counting_order

_PYTHON = (leave_dependent_rows, least_share, next_edge, proof_terms, round_flow, shift_cycle)
"""Kernels that have little to do where numpy serves: they run as the Python that they are."""

FORMS: Forms = {
    **{kernel: getattr(kernel, "py_func", kernel) for kernel in _PYTHON},
    **sums.FORMS,
    **layouts.FORMS,
    **sweeps.FORMS,
    **relaxed_sweeps.FORMS,
    **newton.FORMS,
    **proof.FORMS,
    **ranks.FORMS,
    **heaviest_forests.FORMS,
}
"""For each kernel that has one its form in numpy."""

ALONE = frozenset({*sums.ALONE, counting_order})
"""Kernels that are called on tables, before any problem is there to choose for: the size of their array decides."""
