"""Ctrl-C at random times: a projection ends within half a second and gives back the state so far."""

from __future__ import annotations

import random
import signal
import statistics
import time

import purtensor as pt
from tests.interruption.child import started

LIMIT = 0.5
BUSY = 2.0
"""Seconds: what is promised, judged by the median, and what a machine with more work than cores may make of one."""

PROJECTING = """
import sys, time
import purtensor as pt
problem = pt.problems.load("b")
pt.diagnose(problem.reference, problem.constraints)  # compiled, or read from the cache
for solver in [pt.IPF(), pt.GIS()] * int(sys.argv[1]):
    options = {"solver": solver, "tolerance": 0.0, "on_failure": "return"}
    pt.project(problem.reference, problem.constraints, max_iterations=3, **options)
    print("begun", flush=True)
    try:
        while True:  # a run that ends by itself begins again
            result = pt.project(problem.reference, problem.constraints, **options)
            if result.termination is pt.Termination.INTERRUPTED:
                break
    except KeyboardInterrupt:  # outside of the solver there is no state
        result = None
    ended = time.monotonic()
    ending = result.termination.name if result is not None else "KeyboardInterrupt"
    kept = result is not None and result.iterations > 0 and abs(float(result.table.sum()) - 1) < 0.5
    print(ended, ending, kept, flush=True)
"""


def test_project__ends_within_half_a_second_with_the_state_so_far():
    rng, rounds = random.Random(8), 3
    child = started(PROJECTING, rounds)
    waited, endings = [], []
    for _ in range(2 * rounds):
        assert child.stdout.readline() == "begun\n", child.stderr.read()
        time.sleep(rng.uniform(0.01, 0.2))
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        ended, ending, kept = child.stdout.readline().split()
        waited.append(float(ended) - sent)
        endings.append((ending, kept))
    child.communicate(timeout=30)
    assert statistics.median(waited) < LIMIT
    assert max(waited) < BUSY
    assert set(endings) <= {("INTERRUPTED", "True"), ("KeyboardInterrupt", "False")}
    assert ("INTERRUPTED", "True") in endings


OTHERS = """
import time
import numpy as np
import purtensor as pt
rng = np.random.default_rng(0)
records = {name: rng.integers(0, 5, 400_000) for name in "abc"}
counts = pt.tabulate(records)
for call in [lambda: pt.tabulate(records), lambda: pt.round_counts(counts, 1_000_000),
             lambda: pt.diagnose(counts, pt.marginals_of(counts, "a b | b c | a c"))]:
    call()
    print("begun", flush=True)
    try:
        while True:
            call()
    except KeyboardInterrupt:
        print(time.monotonic(), flush=True)
"""


def test_others__end_soon():
    child = started(OTHERS)
    rng = random.Random(3)
    for _ in ("tabulate", "round_counts", "diagnose"):
        assert child.stdout.readline() == "begun\n", child.stderr.read()
        time.sleep(rng.uniform(0.05, 0.2))
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert float(child.stdout.readline()) - sent < BUSY
    child.communicate(timeout=30)


def test_project__max_seconds_is_honoured():
    limit = 0.1
    problem = pt.problems.load("b")
    pt.diagnose(problem.reference, problem.constraints)  # compiled, or read from the cache
    options = {"solver": pt.IPF(), "tolerance": 0.0, "on_failure": "return", "certificate": False}
    pt.project(problem.reference, problem.constraints, max_iterations=3, **options)
    result = pt.project(problem.reference, problem.constraints, max_seconds=limit, **options)
    assert result.termination is pt.Termination.TIME_LIMIT
    assert limit <= result.seconds < limit + BUSY


COMPARING = """
import sys
from purtensor.cli.main import main
if __name__ == "__main__":
    solvers = ["newton", "tests.interruption.unending:Unending"]
    words = ["compare", "haberman", "and_gate", "--solvers", *solvers, "--max-iterations", "1000000000"]
    sys.exit(main([*words, "--budget", "600", "--workers", "2", "--out", sys.argv[1]]))
"""


def test_compare__by_workers_ends_soon_and_writes_what_was_done(tmp_path):
    """Only the command hears the signal, not its workers, which go on for ten minutes if nobody ends them."""
    child = started(COMPARING, tmp_path / "out", RUNNING=str(tmp_path / "running"))
    until = time.monotonic() + 60
    while not (tmp_path / "running").exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(1.0)  # what ended before is told
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130, error
    assert time.monotonic() - sent < 30  # pictures and report included
    runs = (tmp_path / "out" / "runs.csv").read_text()
    assert "haberman,newton,converged" in runs
    assert "Unending" not in runs
