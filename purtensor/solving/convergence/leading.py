"""The leading eigenvalue of a sweep, and how fast errors fall by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from purtensor._typing import FloatArray

Complexes = npt.NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class LeadingEigenvalue:
    """The leading eigenvalue of a sweep.

    Attributes
    ----------
    value
        lambda, 0 where a sweep leaves nothing.
    gap
        1 - lambda, with relative accuracy: 1 - `value` has lost its digits where the sweep is slow.
    steps
        How many solves with H it took, or sweeps.
    settled
        Whether the last two estimates agree to the tolerance that was requested.
    mode
        Shape (D,): potentials of the eigenvector; complex where lambda is.
    """

    value: complex
    gap: complex
    steps: int
    settled: bool
    mode: Complexes


def decay_of(gap: complex) -> float:
    """Return -log |1 - gap|: how much a sweep takes off the logarithm of the error; inf where it leaves nothing."""
    return float(decays_of(np.array([gap], dtype=np.complex128))[0])


def decays_of(gaps: Complexes) -> FloatArray:
    """Return -log |1 - gap|, accurate for small gaps; inf where the sweep leaves nothing."""
    real, imaginary = gaps.real, gaps.imag
    squared = (-2.0 + real) * real + imaginary**2  # |1 - gap|^2 - 1
    with np.errstate(divide="ignore"):
        # log1p of |1 - gap|^2 - 1, as log |1 - gap| would lose the digits of a small gap
        return np.asarray(-0.5 * np.log1p(np.maximum(squared, -1.0)))
