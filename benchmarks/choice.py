"""How the solver that is taken when none is named fares against the better of IPF and Newton.

    python -m benchmarks.choice            # 200 random problems that were not used for tuning, and the named ones
    python -m benchmarks.choice --count 20

Processor time of one thread, the fastest of three; the ratio is that of the automatic choice to the better of the two.
A table so small that a solve takes less than a millisecond says nothing of the choice and is listed apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import purtensor as pt
from benchmarks.runs import solver_problem
from purtensor.problems import NamedProblem
from purtensor.solving.iterate import Solver
from purtensor.solving.loop import Run
from purtensor.solving.problem import Problem
from purtensor.solving.solve import run
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.stopping import Stopping

TOLERANCE = 1e-10
NAMED = ("a", "b", "b_hard", "b_hard2", "b_hardbias", "b_lam0", "c", "c_hard", "c_hard2", "i4", "i5", "g")
_LONGEST = 20.0
_ONE_MILLISECOND = 1e-3


@dataclass(frozen=True, slots=True)
class Outcome:
    """The seconds that each took on one problem."""

    name: str
    automatic: float
    ipf: float
    newton: float

    @property
    def ratio(self) -> float:
        """Automatic to the better of the two."""
        return self.automatic / min(self.ipf, self.newton)


def random_problems(count: int, seed: int) -> Iterator[NamedProblem]:
    """Yield random problems of every family, sizes and regularisation."""
    rng = np.random.default_rng(seed)
    for number in range(count):
        kind = number % 4
        if kind < 2:
            sizes = {
                "responses": int(rng.integers(2, 7)),
                "protected": int(rng.integers(2, 9)),
                "unprotected": int(10 ** rng.uniform(1, 3.3)),
            }
            cells = sizes["responses"] * sizes["protected"] * sizes["unprotected"]
            yield pt.problems.generate(
                "pur",
                seed=number,
                **sizes,
                records=int(cells * 10 ** rng.uniform(0, 2)),
                strength=float(10 ** rng.uniform(-6, 0)),
            )
        elif kind == 2:
            yield pt.problems.generate("binary", seed=number, attributes=int(rng.integers(4, 12)))
        else:
            yield pt.problems.generate(
                "records",
                seed=number,
                profiles=int(10 ** rng.uniform(2, 4.3)),
                attributes=2 * int(rng.integers(5, 8)),
                categories=int(rng.integers(5, 11)),
            )


def seconds(problem: Problem, solver: Solver) -> float:
    """Return the fastest of three solves, what is known of the Hessian forgotten before each."""
    best = _LONGEST
    for _ in range(3):
        problem.system.kept.clear()
        stopping = Stopping(TOLERANCE, "residual", 1_000_000, _LONGEST)
        start = time.thread_time()
        ended: Run = run(problem, solver, stopping)
        spent = time.thread_time() - start
        best = min(best, spent if ended.termination.converged else _LONGEST)
    return best


def measured(named: NamedProblem) -> Outcome | None:
    """Return the times on a problem; None where neither solver gets there, which is another question."""
    try:
        problem = solver_problem(named)
    except pt.InfeasibleError:
        return None
    ipf, newton = seconds(problem, pt.IPF()), seconds(problem, pt.Newton())
    if min(ipf, newton) >= _LONGEST:
        return None
    return Outcome(named.name, seconds(problem, Automatic()), ipf, newton)


def main() -> None:
    """Print a line a problem, and the worst and the typical ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=200, help="random problems")
    parser.add_argument("--seed", type=int, default=7, help="of the random problems; 2026 is that of the tuning")
    parser.add_argument("--named", nargs="*", default=list(NAMED), help="benchmark problems")
    asked = parser.parse_args()
    random = [outcome for named in random_problems(asked.count, asked.seed) if (outcome := measured(named))]
    named = [outcome for name in asked.named if (outcome := measured(pt.problems.load(name)))]
    for title, outcomes in (("named", named), ("random", random)):
        print(f"{title}: {len(outcomes)} problems that IPF or Newton solves")
        for outcome in sorted(outcomes, key=lambda o: -o.ratio)[: None if title == "named" else 10]:
            print(
                f"  {outcome.ratio:6.2f}  automatic {outcome.automatic:.3g} s, IPF {outcome.ipf:.3g} s, "
                f"Newton {outcome.newton:.3g} s  {outcome.name}"
            )
        large = [o for o in outcomes if min(o.ipf, o.newton) >= _ONE_MILLISECOND]
        for text, group in (("all", outcomes), ("of a millisecond or more", large)):
            if group:
                ratios = [o.ratio for o in group]
                print(f"  {text} ({len(group)}): worst {max(ratios):.2f}, median {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()
