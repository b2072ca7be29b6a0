"""Ctrl-C at random times: long calls end within half a second, and give back the state so far where there is one."""

from __future__ import annotations

import itertools
import random
import signal
import statistics
import time
from dataclasses import dataclass

import pytest

import purtensor as pt
from tests.interruption.child import started

pytestmark = pytest.mark.slow

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
            if result.termination is pt.results.Termination.INTERRUPTED:
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


STATE = {
    "Newton",
    "LBFGS",
    "many",
    "many by threads",
    "relax kl",
    "relax l1",
    "parity_curve",
    "strength_path",
    "proxies",
    "study_rate",
    "compare",
    "bootstrap",
    "ipfn",
    "Ipfp",
}
"""The calls that give back what was done until then; the others have nothing to give, or keep it in a folder."""

NOTHING = {
    "standard_errors",
    "verify",
    "diagnose",
    "coefficients",
    "convergence_rate",
    "best_order",
    "tabulate",
    "sample",
    "round_counts",
    "round_counts with constraints",
    "save",
    "load",
    "fit",
    "study_wage",
    "study_adult",
}

TIMES = 1


@dataclass
class Ended:
    """How long each interruption of a call took, in seconds, and what came back; beside: the files that are left."""

    waited: dict[str, list[float]]
    came: dict[str, list[str]]
    beside: list[str]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """All calls interrupted, by one process."""
    child = started(
        "from tests.interruption.long_calls import main; import sys, pathlib; "
        "main(pathlib.Path(sys.argv[1]), int(sys.argv[2]), set())",
        tmp_path_factory.mktemp("long"),
        TIMES,
    )
    rng, found = random.Random(3), Ended({}, {}, [])

    def told():
        words = child.stdout.readline().rstrip("\n").split("\t")
        assert words != [""], child.communicate()[1]
        return words

    words = told()
    while words[0] == "begun":
        time.sleep(rng.uniform(0.02, 0.6))
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        _, name, at, what = told()
        found.waited.setdefault(name, []).append(float(at) - sent)
        found.came.setdefault(name, []).append(what)
        words = told()
    child.communicate(timeout=30)
    found.beside = words[1:]
    return found


def test_long_calls__are_all_here(ended):
    assert set(ended.waited) == STATE | NOTHING


@pytest.mark.parametrize("name", sorted(STATE | NOTHING))
def test_long_calls__end_soon_and_no_result_hides_that_it_was_cut_short(name, ended):
    assert max(ended.waited[name]) < BUSY
    assert set(ended.came[name]) <= {"KeyboardInterrupt", *(["state"] if name in STATE else [])}


def test_long_calls__end_within_half_a_second(ended):
    assert statistics.median(itertools.chain(*ended.waited.values())) < LIMIT


def test_long_calls__most_give_back_the_state_so_far(ended):
    """Outside of the loops, as while a table is made ready, there is none."""
    given = [name for name in STATE if "state" in ended.came[name]]
    assert len(given) >= len(STATE) / 3


def test_long_calls__leave_no_half_file_behind(ended):
    """What is kept of the studies is whole, for another run to go on from."""
    kept = {name.split("-")[0] for name in ended.beside}
    assert kept <= {"members", "data_sets", "splits", "table.nc"}
    assert "table.nc" in kept


def test_project__max_seconds_is_honoured():
    limit = 0.1
    problem = pt.problems.load("b")
    pt.diagnose(problem.reference, problem.constraints)  # compiled, or read from the cache
    options = {"solver": pt.IPF(), "tolerance": 0.0, "on_failure": "return", "certificate": False}
    pt.project(problem.reference, problem.constraints, max_iterations=3, **options)
    result = pt.project(problem.reference, problem.constraints, max_seconds=limit, **options)
    assert result.termination is pt.results.Termination.TIME_LIMIT
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
    running = tmp_path / "running"
    running.mkdir()
    child = started(COMPARING, tmp_path / "out", RUNNING=str(running))
    until = time.monotonic() + 300  # a busy machine takes long to start workers
    while len(list(running.iterdir())) < 2 and time.monotonic() < until:  # both do what does not end: the rest is done
        time.sleep(0.05)
    assert len(list(running.iterdir())) == 2
    time.sleep(1.0)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, error = child.communicate(timeout=60)
    assert child.returncode == 130, error
    assert time.monotonic() - sent < 30  # pictures and report included
    runs = (tmp_path / "out" / "runs.csv").read_text()
    assert {"haberman,newton", "and_gate,newton"} <= {",".join(line.split(",")[:2]) for line in runs.splitlines()}
    assert "Unending" not in runs
