"""Calls that Ctrl-C ends, one after the other; each is made again and again until it comes.

Run with a folder and how often each is to be interrupted. It prints `begun NAME` and then `ended NAME TIME WHAT`, with
the monotonic time at which the call came back, and what came: `state` (a result that says that it was interrupted),
`KeyboardInterrupt`, or what it should not be.
"""

from __future__ import annotations

import signal
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

import purtensor as pt
from purtensor.compat.ipfn import ipfn
from purtensor.compat.mipfp import Ipfp
from purtensor.studies.adult import study_adult
from purtensor.studies.rate_studies import study_rate
from purtensor.studies.wage import PROTECTED, RESPONSE, study_wage

ROLES = {"response": "y", "protected": "s"}
AXES = [[1, 2], [0, 2], [0, 1]]
ENDLESS = {"tolerance": 0.0, "on_failure": "return", "max_seconds": 0.5}


def records(size, sizes):
    rng = np.random.default_rng(0)
    return {name: rng.integers(0, count, size) for name, count in sizes.items()}


def survey():
    """Counts over the attributes of the wage study."""
    people = records(20_000, {RESPONSE: 5, **dict.fromkeys(PROTECTED, 2), "age": 3, "sector": 8})
    people["gender"] = np.array(["male", "female"])[people["gender"]]
    people["race4"] = np.array(["white", "black"])[people["race4"]]
    return pt.tabulate(people)


def calls(folder: Path):
    """Yield the name of each call, and the call."""
    b, c = pt.problems.load("b"), pt.problems.generate("pur", seed=1, responses=5, protected=6, unprotected=2_000)
    cube = np.random.default_rng(1).random((30, 30, 30))
    moved = cube**6 * (cube.sum() / (cube**6).sum())
    sums = [moved.sum(axis) for axis in range(3)]
    solved, many = pt.project(b.reference, b.constraints), records(200_000, dict.fromkeys("ysabcd", 3))
    counts = pt.tabulate(many)
    wide = pt.regularize(counts, response="y")
    people = pd.DataFrame(many)
    few = pt.tabulate(records(20_000, {"y": 3, "s": 3, "x": 400}))
    all_pairs = pt.problems.generate("binary", seed=1, attributes=8)
    pairs = pt.project(all_pairs.reference, all_pairs.constraints)
    wages = survey()
    fitted = {"solver": pt.IPF(), "tolerance": 1e-10}
    yield "Newton", lambda: pt.project(c.reference, c.constraints, solver=pt.Newton(), **ENDLESS)
    yield "LBFGS", lambda: pt.project(c.reference, c.constraints, solver=pt.LBFGS(), **ENDLESS)
    yield "many", lambda: pt.project_many([b.reference] * 4, b.constraints, solver=pt.IPF())
    with ThreadPoolExecutor(2) as pool:
        yield "many by threads", lambda: pt.project_many([b.reference] * 20, b.constraints, executor=pool)
    for penalty in ("kl", "l1"):
        options = {"soft": 0, "penalty": penalty, "on_failure": "return"}
        yield f"relax {penalty}", lambda o=options: pt.relax(c.reference, c.constraints, **o)
    yield "parity_curve", lambda: pt.parity_curve(b.reference, **ROLES, slacks=np.linspace(0.3, 0.0, 10))
    yield "strength_path", lambda: pt.strength_path(few, np.logspace(-4, 1, 10), **ROLES)
    yield "proxies", lambda: pt.proxies(wide, **ROLES)
    yield "study_rate", lambda: study_rate("lambda", values=[1.0, 1e-1, 1e-2, 1e-3])
    yield "compare", lambda: pt.compare(["haberman", "b"], ["newton", "ipf", "project"], repetitions=2)
    yield "standard_errors", lambda: pt.standard_errors(solved, size=45_000)
    yield "bootstrap", lambda: pt.bootstrap(few, lambda drawn: pt.regularize(drawn, response="y").sum(), seed=0)
    yield "verify", lambda: pt.verify(solved)
    yield "diagnose", lambda: pt.diagnose(c.reference, c.constraints)
    yield "coefficients", lambda: pt.coefficients(c.reference, c.constraints).rank
    yield "convergence_rate", lambda: pt.convergence_rate(solved)
    yield "best_order", lambda: pt.convergence.best_order(pairs)
    yield "tabulate", lambda: pt.tabulate(many)
    yield "sample", lambda: pt.sample(c.reference, 10**7, seed=0)
    yield "round_counts", lambda: pt.round_counts(c.reference, 10**7)
    yield "round_counts with constraints", lambda: pt.round_counts(solved.table, 10**6, constraints=b.constraints[:2])
    yield "save", lambda: pt.save(c.reference, folder / "table.nc")
    yield "load", lambda: pt.load(folder / "table.nc")
    yield (
        "fit",
        lambda: pt.sklearn.PURClassifier(protected=["s"], decision="draw", **fitted).fit(
            people[["s", "a", "b"]], people["y"]
        ),
    )
    yield "ipfn", lambda: ipfn(cube.copy(), sums, AXES, convergence_rate=1e-15, max_iteration=40, verbose=1).iteration()
    yield "Ipfp", lambda: Ipfp(cube, AXES, sums, tol=1e-15, iter=40)
    yield "study_wage", lambda: study_wage(wages, "a survey", sets=40, workers=2, folder=folder)
    yield "study_adult", lambda: study_adult(data_sets=2, workers=2, folder=folder)


def said(result) -> str:
    """Return whether a result says that it was interrupted."""
    told = (
        getattr(result, "termination", None) is pt.results.Termination.INTERRUPTED
        or getattr(result, "interrupted", False) is True
        or "interrupted" in getattr(result, "attrs", {})
        or "interrupted" in getattr(result, "settings", {})
        or getattr(getattr(result, "projection", None), "termination", None) is pt.results.Termination.INTERRUPTED
        or (isinstance(result, tuple) and result[-1] == 0)  # ipfn's flag
    )
    return "state" if told else f"unmarked-{type(result).__name__}"


def say(*words) -> None:
    sys.stdout.write("\t".join(map(str, words)) + "\n")
    sys.stdout.flush()


def interrupted(name, call, heard: list[float], ignored: list[type]) -> str:
    """Make the call until a signal is heard, and tell what came of it.

    What is raised in a finalizer, or as a weak reference ends, Python ignores: then nothing was cut short.
    """
    heard.clear()
    ignored.clear()
    try:
        say("begun", name)
        while not heard:
            result = call()
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    return "KeyboardInterrupt" if KeyboardInterrupt in ignored else said(result)


def main(folder: Path, times: int, names: set[str]) -> None:
    heard: list[float] = []
    ignored: list[type] = []
    sys.unraisablehook = lambda told: ignored.append(told.exc_type)
    warnings.simplefilter("ignore", pt.errors.NotConvergedWarning)  # as mipfp, which warns of what has not converged
    warnings.simplefilter("ignore", pt.errors.SuspiciousColumnWarning)  # the tables are made up to be large

    def hear(number, frame):
        heard.append(time.monotonic())
        raise KeyboardInterrupt

    for name, call in calls(folder):
        if names and name not in names:
            continue
        call()  # compiled, or read from the cache
        signal.signal(signal.SIGINT, hear)
        for _ in range(times):
            what = interrupted(name, call, heard, ignored)
            say("ended", name, time.monotonic(), what)
    say("beside", *sorted(path.name for path in folder.iterdir()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:]))
