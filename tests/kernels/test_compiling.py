"""Compilation is no part of any measurement, and is said once on a terminal."""

from __future__ import annotations

import importlib.util
import io
import sys
import threading
import time
from pathlib import Path

import numba
import pytest

from purtensor.kernels import compiling
from purtensor.kernels.compiling import ANNOUNCEMENT, COMPILING, announce, processor_clock, wall_clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_clocks__stand_still_while_compiling() -> None:
    wall, processor = wall_clock(), processor_clock()
    with COMPILING:
        with COMPILING:
            deadline = time.thread_time() + 0.2
            while time.thread_time() < deadline:
                pass
        during = wall_clock() - wall
    assert during < 0.1
    assert wall_clock() - wall < 0.1
    assert processor_clock() - processor < 0.1


def test_clocks__go_on_otherwise() -> None:
    wall, plain = wall_clock(), time.perf_counter()
    time.sleep(0.05)
    assert wall_clock() - wall == pytest.approx(time.perf_counter() - plain, abs=0.02)


def test_clocks__count_what_other_threads_do_after_compilation() -> None:
    with COMPILING:
        other = threading.Thread(target=time.sleep, args=(0.01,))
        other.start()
        other.join()
    assert compiling.COMPILING._depth == 0


@pytest.mark.parametrize(("stream", "said"), [(Terminal(), f"{ANNOUNCEMENT}\n"), (io.StringIO(), "")])
def test_announce__says_one_line_on_a_terminal_and_nothing_elsewhere(
    stream: io.StringIO, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    announce.cache_clear()
    announce()
    announce()
    assert stream.getvalue() == said


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compiled__a_first_call_is_announced_and_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "slow_to_compile.py"
    source.write_text(
        "from purtensor.kernels._jit import compiled\n\n@compiled\ndef total(x):\n    s = 0.0\n"
        "    for i in range(x):\n        s += 1.0 / (1.0 + i)\n    return s\n"
    )
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    spec = importlib.util.spec_from_file_location("slow_to_compile", source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    announce.cache_clear()
    before, wall = wall_clock(), time.perf_counter()
    assert module.total(2) == 1.5
    counted, passed = wall_clock() - before, time.perf_counter() - wall
    assert terminal.getvalue() == f"{ANNOUNCEMENT}\n"
    assert counted < 0.5 * passed
