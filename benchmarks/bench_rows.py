"""Rows of any kind with bounds: numeric totals, intervals, households in zones; and the price of parity."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import sparse

import purtensor as pt
from benchmarks.runs import Brief, skip_unless_heavy
from purtensor._typing import FloatArray
from purtensor.constraints.rows import RowBlock
from purtensor.fairness.disparity import parity_violation
from purtensor.solving.dual.answer import answer
from purtensor.solving.dual.question import Question

BOUNDS = (0.4, 3.0)


def numeric_question(cells: int, rows: int, *, bounds: bool, intervals: float = 0.0) -> Question:
    """Return counts and incomes of people, each row some 3 % from where it is; a share of them may be missed by 1 %."""
    rng = np.random.default_rng(0)
    reference = 50.0 * (0.5 + rng.random(cells))
    counts = [(rng.random(cells) < rng.uniform(0.05, 0.5)).astype(float) for _ in range(rows // 2)]
    incomes = [np.exp(rng.normal(9, 0.7, cells)) for _ in range(rows - rows // 2 - 1)]
    coefficients = np.vstack([np.ones(cells), *counts, *incomes])
    targets = coefficients @ reference
    targets[1:] *= 1.0 + 0.03 * rng.normal(size=rows - 1)
    wide = rng.random(rows) < intervals
    wide[0] = False
    lower, upper = np.where(wide, 0.99, 1.0) * targets, np.where(wide, 1.01, 1.0) * targets
    low, high = BOUNDS if bounds else (0.0, np.inf)
    return _question(reference, sparse.csr_array(coefficients), lower, upper, low * reference, high * reference)


def household_question(households: int, zones: int, *, kinds: int = 10, intervals: int = 0) -> Question:
    """Return households with a count and person controls in each zone, and five controls of all zones together."""
    rng = np.random.default_rng(0)
    zone = rng.integers(0, zones, households)
    persons = [np.ones(households)] + [rng.poisson(0.8, households).astype(float) for _ in range(kinds)]
    each = sparse.csr_array((np.ones(households), (zone, np.arange(households))), shape=(zones, households))
    rows = [each @ sparse.diags_array(values) for values in persons]
    rows.append(sparse.csr_array((rng.random((5, households)) < 0.3).astype(float)))
    coefficients = sparse.vstack(rows, format="csr")
    coefficients.eliminate_zeros()
    reference = 10.0 * (0.5 + rng.random(households))
    targets = coefficients @ (reference * np.exp(rng.normal(0, 0.2, households)))
    wide = np.zeros(len(targets), dtype=bool)
    wide[zones + rng.permutation(len(targets) - zones)[:intervals]] = True
    lower, upper = np.where(wide, 0.98, 1.0) * targets, np.where(wide, 1.02, 1.0) * targets
    infinite = np.full(households, np.inf)
    reference *= targets[:zones].sum() / reference.sum()
    return _question(reference, coefficients, lower, upper, np.zeros(households), infinite)


def _question(
    reference: FloatArray,
    coefficients: sparse.csr_array,
    lower: FloatArray,
    upper: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> Question:
    labels = tuple(str(row) for row in range(len(lower)))
    block = RowBlock("rows", labels, coefficients, lower, upper)
    return Question(reference, (block,), low, high, float(reference.sum()))


QUESTIONS = {
    "10^4 x 60, bounds": lambda: numeric_question(10**4, 60, bounds=True),
    "20,000 households x 38": lambda: household_question(20_000, 3),
    "10^5 x 100": lambda: numeric_question(10**5, 100, bounds=False),
    "10^5 x 100, bounds": lambda: numeric_question(10**5, 100, bounds=True),
    "10^5 x 100, bounds, half intervals": lambda: numeric_question(10**5, 100, bounds=True, intervals=0.5),
    "10^5 households x 3,305": lambda: household_question(10**5, 300),
    "10^5 households x 3,305, 1,800 intervals": lambda: household_question(10**5, 300, intervals=1800),
}
HEAVY = tuple(QUESTIONS)[2:]


class Rows(Brief):
    """Time and Newton steps of an answer with its certificate."""

    params = (tuple(QUESTIONS),)
    param_names = ("question",)

    def setup(self, name: str) -> None:
        """Make the question."""
        skip_unless_heavy(name, HEAVY)
        self.question = QUESTIONS[name]()

    def time_answer(self, name: str) -> None:
        """Measure the answer and its proof."""
        answer(self.question)

    def track_steps(self, name: str) -> int:
        """Return the number of Newton steps."""
        found = answer(self.question)
        assert found.certified
        return found.iterations

    track_steps.unit = "steps"


class Curves(Brief):
    """The price of parity at nine slacks: each search begins where the last one ended."""

    params = ((30, 300),)
    param_names = ("unprotected",)

    def setup(self, unprotected: int) -> None:
        """Make the counts and the slacks."""
        rng = np.random.default_rng(0)
        sizes = {"y": 2, "s": 4, "u": 5, "v": unprotected // 5}
        counts = xr.DataArray(50.0 * rng.gamma(0.7, 1.0, tuple(sizes.values())) + 0.1, dims=tuple(sizes))
        self.counts = counts.assign_coords({name: np.arange(size) for name, size in sizes.items()})
        own = parity_violation(self.counts, response="y", protected="s")
        self.slacks = own * np.linspace(0.95, 0.0, 9)

    def time_nine_slacks(self, unprotected: int) -> None:
        """Measure the curve."""
        pt.parity_curve(self.counts, response="y", protected="s", slacks=self.slacks)
