"""Ctrl-C and other libraries: heard while they compute, and held back while they hold locks."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

from purtensor import _interrupts
from purtensor._interrupts import hold_interrupts, run_apart
from tests.interruption.child import started

BUSY = 2.0


def test_run_apart__gives_and_raises_what_the_call_does():
    assert run_apart(lambda: threading.current_thread().name) == "purtensor-apart"

    def fails():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_apart(fails)


def test_run_apart__keeps_what_numpy_was_told_of_errors():
    with np.errstate(divide="ignore"):
        assert run_apart(lambda: np.ones(1) / np.zeros(1)) == np.inf


def test_run_apart__off_the_main_thread_makes_the_call_itself():
    found = []
    thread = threading.Thread(target=lambda: found.append(run_apart(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]


def test_run_apart__without_another_thread_makes_the_call_itself(monkeypatch):
    def start(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_interrupts.threading.Thread, "start", start)
    assert run_apart(threading.current_thread) is threading.main_thread()


DEAF = """
import hashlib, time
import purtensor as pt
import purtensor.sampling.repair as repair
from purtensor.constraints.system import align
from purtensor.feasibility import linear_programs as programs
from purtensor.tables.coded import encode

def deaf(*arguments, **options):
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 200_000_000)  # minutes in C, where no signal is heard

{patch} = deaf
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals are sent as on POSIX")
@pytest.mark.parametrize(
    ("patch", "call"),
    [
        (
            "programs.linprog",
            "p = pt.problems.load('proxy'); programs.refuting_weights(align(encode(p.reference), p.constraints))",
        ),
        (
            "repair.milp",
            "p = pt.problems.load('b'); q = pt.project(p.reference, p.constraints); "
            "pt.round_counts(q.table, 10**6, constraints=p.constraints)",
        ),
    ],
    ids=["linear program", "integer program"],
)
@pytest.mark.slow
def test_run_apart__programs_that_hear_nothing_do_not_keep_anybody(patch, call):
    child = started(DEAF.format(patch=patch, call=call))
    assert child.stdout.readline() == "begun\n", child.communicate()[1]
    time.sleep(0.2)
    sent = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert float(child.stdout.readline()) - sent < BUSY
    _, error = child.communicate(timeout=30)  # nor does it keep the process
    assert child.returncode == 0, error


def test_undisturbed__holds_ctrl_c_back_to_the_end_of_the_block():
    done = []

    def disturbed():
        with hold_interrupts():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        disturbed()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_undisturbed__is_for_the_main_thread_and_leaves_other_handlers():
    kept = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with hold_interrupts():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, kept)
    seen = []
    thread = threading.Thread(
        target=lambda: seen.extend([hold_interrupts().__enter__(), signal.getsignal(signal.SIGINT)])
    )
    thread.start()
    thread.join()
    assert seen == [None, kept]
