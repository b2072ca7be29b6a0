"""The parent's side of a package that runs in a separate process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any


class ProcessEndedError(Exception):
    """The process has ended; the message has its exit status."""


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

    def ask(self, request: Any, seconds: float) -> Any:
        """Return the reply.

        Raises
        ------
        TimeoutError
            There was none within so many seconds; the process has been ended.
        ProcessEndedError
            The process ended by itself.
        """
        waiting = self._reader.submit(self._exchange, request)
        try:
            return waiting.result(seconds)
        except FutureTimeoutError:
            self.close()
            raise TimeoutError(f"no reply within {seconds:.3g} s") from None
        except (EOFError, OSError, pickle.UnpicklingError):
            raise ProcessEndedError(self._last_words()) from None

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

    def _exchange(self, request: Any) -> Any:
        assert self._process.stdin is not None  # both were requested
        assert self._process.stdout is not None
        pickle.dump(request, self._process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        how = f"ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}: {lines[-1]}" if lines else how
