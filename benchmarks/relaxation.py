"""Self-tuned over-relaxation against plain sweeps and the best constant: `python -m benchmarks.relaxation [PROBLEMS]`.

Sweeps to 1e-10 on random PUR problems that take at least 40 plain ones; constants come from a grid (notes/solvers.md).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator

import numpy as np

import purtensor as pt
from benchmarks.forecasts import pur_problem

_CONSTANTS = [2.0 - 10.0**-e for e in np.arange(0.05, 2.6, 0.1)]
_MOST = 100_000


def sweeps(seed: int, solver: pt.IPF, most: int = _MOST) -> float:
    """Return how many sweeps a solver takes; inf where it does not get there."""
    reference, constraints = pur_problem(seed)
    found = pt.project(
        reference, constraints, solver=solver, max_iterations=most, on_failure="return", certificate=False
    )
    return float(found.iterations) if found.converged else math.inf


def counts(problems: int) -> Iterator[tuple[float, float, float]]:
    """Yield the sweeps of plain, of self-tuned and of the best constant relaxation."""
    seed = 0
    while problems > 0:
        seed += 1
        try:
            plain = sweeps(seed, pt.IPF())
        except pt.PurtensorError:  # without an answer
            continue
        if not 40 <= plain < math.inf:
            continue
        problems -= 1
        best = plain
        for constant in _CONSTANTS:
            best = min(best, sweeps(seed, pt.IPF(relaxation=constant), int(best)))
        yield plain, sweeps(seed, pt.IPF(relaxation="auto")), best


def main(problems: int) -> None:
    """Print percentiles of the ratios."""
    plain, tuned, best = (np.array(column) for column in zip(*counts(problems), strict=True))
    for name, ratio in (("self-tuned / best constant", tuned / best), ("self-tuned / plain", tuned / plain)):
        shown = ", ".join(f"{x:.2f}" for x in np.quantile(ratio, [0.0, 0.1, 0.5, 0.9, 1.0]))
        print(f"{name}: {shown} (least, 10, 50, 90 %, most of {len(ratio)})")
    print(f"slower than plain by more than 10 sweeps: {np.mean(tuned > plain + 10):.1%}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
