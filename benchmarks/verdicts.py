"""Verdicts on feasibility beside ours, as Markdown: `python -m benchmarks.verdicts [NAME ...]`.

HiGHS (scipy) and SCS look for the largest least mass of a table that meets the targets; facial sets, as eMLEloglin
finds them for log-linear models, come from linear programs that are repeated until no profile is ruled out. What is not
installed is left out by name. Seconds are the processor's, ours from labels, the others' from arrays; "zeros" are
profiles that are forced to be empty.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linprog

import purtensor as pt
from benchmarks.figures import print_lines, table_row
from purtensor._typing import FloatArray, Table
from purtensor.comparison.questions import Question, questions
from purtensor.kernels.compiling import processor_clock

NAMES = ("a", "b_lam0", "and_gate", "haberman_boundary", "staircase", "proxy", "cut_3x3", "rochdale2", "rochdale3")
_ROCHDALE = Path(__file__).parents[1] / "tests" / "published" / "data" / "Rochdale.csv"

Judge = Callable[[sparse.csr_array, FloatArray], tuple[str, int]]
"""Returns the verdict on C p = b, p >= 0, and how many profiles are forced to be empty (-1: not told)."""

_SURE = 1e-9
"""Below this a mass is 0 to a solver of floating point, of a total of 1."""


def largest_least_mass(rows: sparse.csr_array, targets: FloatArray) -> tuple[str, int]:
    """Return the verdict of HiGHS: the largest t with C p = b, p >= t."""
    count = rows.shape[1]
    lifted = sparse.hstack([rows, sparse.csr_array(rows.sum(axis=1)[:, None])]).tocsr()  # p = r + t, r >= 0
    goal = np.append(np.zeros(count), -1.0)
    found = linprog(goal, A_eq=lifted, b_eq=targets, bounds=[(0, None)] * (count + 1), method="highs")
    if found.status == 2:
        return "infeasible", -1
    return ("interior", 0) if -found.fun > _SURE else ("boundary", -1)


def facial_set(rows: sparse.csr_array, targets: FloatArray) -> tuple[str, int]:
    """Return the verdict by facial sets: while some table has mass on further profiles, these are not forced empty.

    Each program maximises the sum of masses on the profiles still in doubt, each counted up to a share; what has mass
    in the sum of all tables found is not empty, and where nothing new has, the rest is.
    """
    count = rows.shape[1]
    doubtful = np.ones(count, dtype=bool)
    while doubtful.any():
        goal = np.where(doubtful, -1.0, 0.0)
        extra = sparse.hstack([rows, sparse.csr_array(rows.shape)]).tocsr()
        capped = sparse.hstack([-sparse.eye_array(count), sparse.eye_array(count)]).tocsr()  # u <= p, u <= cap
        found = linprog(
            np.concatenate([np.zeros(count), goal]),
            A_eq=extra,
            b_eq=targets,
            A_ub=capped,
            b_ub=np.zeros(count),
            bounds=[(0, None)] * count + [(0, 1e-4)] * count,
            method="highs",
        )
        if found.status == 2:
            return "infeasible", -1
        held = doubtful & (found.x[:count] > _SURE)
        if not held.any():
            break
        doubtful &= ~held
    zeros = int(doubtful.sum())
    return ("boundary" if zeros else "interior"), zeros


def by_scs(rows: sparse.csr_array, targets: FloatArray) -> tuple[str, int]:
    """Return the verdict of SCS on the same program as HiGHS."""
    scs = import_module("scs")
    count = rows.shape[1]
    lifted = sparse.hstack([rows, sparse.csr_array(rows.sum(axis=1)[:, None])])
    positive = sparse.hstack([-sparse.eye_array(count), sparse.csr_array((count, 1))])
    data = {
        "A": sparse.csc_matrix(
            sparse.vstack([lifted, positive, sparse.csr_array(([-1.0], ([0], [count])), (1, count + 1))])
        ),
        "b": np.concatenate([targets, np.zeros(count + 1)]),
        "c": np.append(np.zeros(count), -1.0),
    }
    cone = {"z": rows.shape[0], "l": count + 1}
    found = scs.SCS(data, cone, eps_abs=1e-9, eps_rel=1e-9, max_iters=50_000, verbose=False).solve()
    status = found["info"]["status"]
    if "infeasible" in status:
        return "infeasible", -1
    if status != "solved":
        return "undecided", -1
    return ("interior", 0) if found["x"][-1] > 1e-7 else ("boundary", -1)


JUDGES: Mapping[str, tuple[str, Judge]] = {
    "HiGHS": ("scipy", largest_least_mass),
    "facial sets": ("scipy", facial_set),
    "SCS": ("scs", by_scs),
}
"""By name: the module that each needs, and the call."""


def posed(name: str) -> tuple[Table, Sequence[pt.Marginal]]:
    """Return a named problem, or all two- or three-way marginals of women's work in Rochdale over the uniform table."""
    if not name.startswith("rochdale"):
        problem = pt.problems.load(name)
        return problem.reference, problem.constraints
    counts = pd.read_csv(_ROCHDALE)
    attributes = [column for column in counts.columns if column != "count"]
    table = pt.to_dense(pt.tabulate(counts, attributes, weights="count"))
    scopes = list(itertools.combinations(attributes, int(name[-1])))
    return pt.uniform(table, support="product"), pt.marginals_of(pt.empirical(table), scopes)


def verdicts(name: str) -> Iterator[tuple[str, str, int, float]]:
    """Yield who judged, the verdict, the forced zeros (-1: not told) and the seconds."""
    reference, constraints = posed(name)
    began = processor_clock()
    ours = pt.diagnose(reference, constraints)
    seconds = processor_clock() - began
    zeros = 0 if ours.implied_zeros is None else int(ours.implied_zeros.size)
    yield "purtensor", ours.verdict.value, -1 if ours.verdict is pt.Verdict.INFEASIBLE else zeros, seconds
    question: Question = questions([(reference, constraints)], 10.0)[0]
    rows, targets = question.plain.matrix()
    emptied = len(question.plain.masses) - rows.shape[1]
    for judge, (module, call) in JUDGES.items():
        if find_spec(module) is None:
            yield judge, f"needs {module}", -1, float("nan")
            continue
        began = processor_clock()
        verdict, found = call(rows, targets)
        if emptied and verdict != "infeasible":
            verdict = "boundary"
        yield judge, verdict, found if found < 0 else found + emptied, processor_clock() - began


def main(names: Sequence[str]) -> None:
    """Print the table, a line as soon as it is known."""
    print_lines(table_row(["problem", "by", "verdict", "zeros", "seconds"]), table_row(["---"] * 5))
    for name in names or NAMES:
        for judge, verdict, zeros, seconds in verdicts(name):
            print_lines(table_row([name, judge, verdict, "" if zeros < 0 else str(zeros), f"{seconds:.3f}"]))


if __name__ == "__main__":
    main(sys.argv[1:])
