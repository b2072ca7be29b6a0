"""A package that runs in a separate process: requests, replies, and the process, which may be slow or die."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import TypeAlias

from purtensor.comparison.peers.peer import Attempt
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Ending, Rule


@dataclass(frozen=True, slots=True)
class Prepare:
    """Requests the preparation of a problem; the reply is None, or `Failed`."""

    peer: str
    problem: PlainProblem
    rule: Rule


@dataclass(frozen=True, slots=True)
class Solve:
    """Requests a number of consecutive runs; the reply is `Solved`, with their mean time, or `Failed`."""

    runs: int = 1


@dataclass(frozen=True, slots=True)
class Solved:
    """What a run gave, in how many seconds, and the rise of the resident memory in bytes."""

    attempt: Attempt
    seconds: float
    peak: float


@dataclass(frozen=True, slots=True)
class Failed:
    """The ending of a run that gave nothing, and what there is to say about it."""

    ending: Ending
    note: str


Reply: TypeAlias = Solved | Failed | None


class Isolated:
    """A worker process; each request gets one reply, or the process is ended."""

    def __init__(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        # the worker finds what this process can import
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "purtensor.comparison.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
        )
        self._reader = ThreadPoolExecutor(1)

    def ask(self, request: Prepare | Solve, seconds: float) -> Reply:
        """Return the reply; `Failed` if the process ended, or was ended because there was no reply for so long."""
        waiting = self._reader.submit(self._exchange, request)
        try:
            return waiting.result(seconds)
        except FutureTimeoutError:
            self.close()
            return Failed(Ending.TIME_LIMIT, "it does not hear of limits: its process was ended")
        except (EOFError, OSError, pickle.UnpicklingError):
            return Failed(Ending.KILLED, self._last_words())

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.shutdown()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except OSError:  # what was still to be written has no reader any more
                    continue
        self._errors.close()

    def _exchange(self, request: Prepare | Solve) -> Reply:
        assert self._process.stdin is not None  # both were requested
        assert self._process.stdout is not None
        pickle.dump(request, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        reply: Reply = pickle.load(self._process.stdout)
        return reply

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}: {lines[-1]}" if lines else how
