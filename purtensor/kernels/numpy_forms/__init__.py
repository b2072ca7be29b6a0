"""The kernels of a projection in numpy: what the compiled ones are copies of, and what small problems run in.

A kernel that has no form here is compiled whenever it is called.
"""

from __future__ import annotations

from purtensor.kernels.numpy_forms import heaviest_forests, layouts, newton, proof, ranks, sums, sweeps
from purtensor.kernels.numpy_forms.forms import Forms
from purtensor.kernels.slabs import counting_order

FORMS: Forms = {
    **sums.FORMS,
    **layouts.FORMS,
    **sweeps.FORMS,
    **newton.FORMS,
    **proof.FORMS,
    **ranks.FORMS,
    **heaviest_forests.FORMS,
}
"""For each kernel that has one its form in numpy."""

ALONE = frozenset({*sums.ALONE, counting_order})
"""Kernels that are called on tables, before any problem is there to choose for: the size of their array decides."""
