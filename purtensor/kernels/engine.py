"""Which form of the kernels runs: plain numpy, or compiled.

Numpy costs nothing before it starts; compiled code is two to ten times as fast, and has to be compiled once. So numpy
serves problems up to COLD where no compiled kernels are kept, which is looked up once in a process: what it compiles
later does not change the bits of its answers.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path

from purtensor.errors import InvalidOptionError
from purtensor.kernels._sources import fingerprint

VARIABLE = "PURTENSOR_ENGINE"
"""The environment variable that pins the form: "plain" or "compiled"."""

COLD = 3_000_000
"""Profiles times constraints up to which numpy has ended before kernels would have been compiled."""

_SWEEP_READS = 1_000_000_000
"""Sweeps that have read so many profiles took as long as compiling does: from there on compiled kernels make them."""

CHOSEN: ContextVar[bool | None] = ContextVar("purtensor_engine", default=None)
"""Whether kernels run in numpy; None where nobody has chosen for the work at hand."""

_SAMPLE = Path(__file__).parent / "newton" / "proof.py"
"""Where one of these kernels is kept, they all are: every certificate takes them."""


def prefers_numpy(reads: int) -> bool:
    """Tell whether work on so many profiles times constraints is to run in numpy.

    Raises
    ------
    InvalidOptionError
        The environment variable asks for neither form.
    """
    # what the user asks for comes before the estimate
    asked = _read_variable()
    if asked is not None:
        return asked == "plain"
    return reads <= COLD and not has_kept_kernels()


def serves_in_numpy(reads: int) -> bool:
    """Tell whether numpy was chosen for the work at hand; where nothing was, whether it is to serve so many reads."""
    chosen = CHOSEN.get()
    return prefers_numpy(reads) if chosen is None else chosen


@contextmanager
def engine(*, plain: bool) -> Iterator[None]:
    """Let the kernels that are called inside run in numpy, or compiled."""
    token = CHOSEN.set(plain)
    try:
        yield
    finally:
        CHOSEN.reset(token)


@contextmanager
def engine_for(reads: int) -> Iterator[str]:
    """Choose the form for work on so many profiles times constraints, unless it was chosen outside.

    Yields a note where that is numpy, "" else.
    """
    outer = CHOSEN.get()
    if outer is not None:
        yield ""
        return
    plain = prefers_numpy(reads)
    why = (
        f"as {VARIABLE} asks"
        if _read_variable()
        else "because no compiled kernels are cached (`purtensor warmup` compiles them)"
    )
    note = f"plain numpy, {why}" if plain else ""
    with engine(plain=plain):
        yield note


def runs_in_numpy() -> bool:
    """Tell whether numpy was chosen for the work at hand."""
    return CHOSEN.get() is True


def sweeps_in_numpy(reads: int) -> int:
    """Return how many sweeps, each of which reads so many profiles, numpy makes before compiled kernels take over."""
    if _read_variable() is not None:
        return sys.maxsize
    return max(1, _SWEEP_READS // max(1, reads))


@cache
def has_kept_kernels() -> bool:
    """Tell whether a cache holds compiled kernels of these sources; what this process compiles later changes nothing.

    Looked up without numba, whose import would take longer than most calls.
    """
    # numba's name of an index of compiled forms: module, function, line, interpreter
    pattern = f"{_SAMPLE.stem}.add_proof-*.py{sys.version_info[0]}{sys.version_info[1]}*.nbi"
    made_of = fingerprint(_SAMPLE).digest.encode()
    for folder in _cache_folders():
        for file in folder.glob(pattern):
            # the stamp that `_numba` writes: kernels of other sources do not count
            if made_of in file.read_bytes():
                return True
    return False


def _cache_folders() -> list[Path]:
    """Return where numba may keep the kernels of the sample's folder."""
    name = f"{_SAMPLE.parent.name}_*"
    given = os.environ.get("NUMBA_CACHE_DIR", "")
    if given:
        return list(Path(given).glob(name))
    of_user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "numba"
    return [_SAMPLE.parent / "__pycache__", *of_user.glob(name)]


def _read_variable() -> str | None:
    asked = os.environ.get(VARIABLE, "").strip()
    if asked not in ("", "plain", "compiled"):
        raise InvalidOptionError(f"{VARIABLE} must be 'plain' or 'compiled', got {asked!r}")
    return asked or None
