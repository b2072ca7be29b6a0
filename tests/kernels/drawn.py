"""Small problems as arrays for the tests of kernels, and how a kernel is run in its two forms."""

from __future__ import annotations

import numpy as np
import pytest

from purtensor.kernels.numpy_forms import FORMS


def plain(kernel):
    """Return a kernel as plain Python: as it is where nothing is compiled (NUMBA_DISABLE_JIT)."""
    return getattr(kernel, "py_func", kernel)


def both(kernel, name="kernel"):
    """Parametrize a test over a kernel compiled, as plain Python, and in numpy where it has such a form."""
    forms = [(kernel, "compiled"), (plain(kernel), "python"), (FORMS.get(kernel), "numpy")]
    found, ids = zip(*(pair for pair in forms if pair[0] is not None), strict=True)
    return pytest.mark.parametrize(name, found, ids=ids)


class Arrays:
    """A random problem: `profiles` masses, constraints with the given numbers of rows, targets of a positive table.

    Every row has a profile where there are enough of them.
    """

    def __init__(self, seed, profiles=40, rows=(6, 5, 4)):
        rng = np.random.default_rng(seed)
        columns = [rng.permutation(np.arange(profiles) % count) for count in rows]
        self.index = np.array(columns, dtype=np.uint8)
        self.offsets = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        self.reference = rng.uniform(0.1, 1.0, profiles)
        self.reference /= self.reference.sum()
        self.coefficients = np.zeros((sum(rows), profiles))
        for k, column in enumerate(columns):
            self.coefficients[self.offsets[k] + column, np.arange(profiles)] = 1.0
        goal = rng.uniform(0.2, 1.0, profiles)
        self.targets = self.coefficients @ (goal / goal.sum())

    def block(self, k):
        return slice(int(self.offsets[k]), int(self.offsets[k + 1]))
