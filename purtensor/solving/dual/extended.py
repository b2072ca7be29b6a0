"""Potentials beyond the digits of a double: tiny standard errors make them millions of nats that nearly cancel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.solving.dual.problem import DualProblem

_UNIT = float(np.finfo(np.longdouble).eps)
LongArray = np.ndarray[Any, np.dtype[np.longdouble]]


@dataclass(frozen=True, slots=True, eq=False)
class ExtendedSums:
    """What columns respond to at potentials in extended precision.

    Attributes
    ----------
    z
        Shape (columns,): A^T potentials, rounded once.
    blur
        Shape (cells,): how far z may be from A^T potentials.
    """

    z: FloatArray
    blur: FloatArray

    @classmethod
    def of(cls, problem: DualProblem, potentials: LongArray) -> ExtendedSums:
        """Return the sums, added up row by row."""
        matrix = problem.matrix.to_sparse()
        z, sizes = np.zeros(problem.cells, dtype=np.longdouble), np.zeros(problem.cells, dtype=np.longdouble)
        for row, (begin, end) in enumerate(zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)):
            terms = matrix.data[begin:end].astype(np.longdouble) * potentials[row]
            z[matrix.indices[begin:end]] += terms
            sizes[matrix.indices[begin:end]] += abs(terms)
        slacks = problem.slack_signs * potentials[problem.slack_rows]
        # the rounding of z to a double, and that of the sums in extended precision
        blur = np.finfo(np.float64).eps * (1.0 + abs(z)) + (problem.rows + 2) * _UNIT * sizes
        return cls(np.concatenate([z, slacks]).astype(np.float64), blur.astype(np.float64))
