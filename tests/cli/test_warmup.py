"""`purtensor warmup`: after it nothing is left to compile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from purtensor.cli import warmup
from purtensor.cli.main import main

COUNT_MISSES = """
import importlib, pkgutil
import purtensor as pt
import purtensor.kernels as kernels

for name in ("a", "b_lam0"):
    problem = pt.problems.load(name)
    for solver in (None, pt.Newton()):
        pt.project(problem.reference, problem.constraints, solver=solver, tolerance=1e-6)
f = pt.regularize(pt.tabulate({"y": [0, 1, 1], "s": [0, 0, 1], "x": [1, 2, 1]}), response="y", strength=1.0)
pt.round_counts(pt.project(f, pt.pur(f, response="y", protected="s")).table, 100, seed=1)
names = [module.name for module in pkgutil.walk_packages(kernels.__path__, "purtensor.kernels.")]
modules = [importlib.import_module(name) for name in names]
found = {id(thing): thing for module in modules for thing in vars(module).values() if hasattr(thing, "stats")}
hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in found.values())
missed = [kernel.py_func.__name__ for kernel in found.values() if kernel.stats.cache_misses]
print(hits, missed)
"""


@pytest.mark.slow
@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_warmup__leaves_nothing_to_compile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warmup"]) == 0
    printed = capsys.readouterr().out
    assert "kernel cache" in printed
    if "none:" in printed:
        pytest.skip("no folder is writable here, so there is no cache")
    done = subprocess.run([sys.executable, "-c", COUNT_MISSES], capture_output=True, text=True, check=True)
    hits, missed = done.stdout.split(maxsplit=1)
    assert int(hits) > 20
    assert missed.strip() == "[]"


def test_warmup__says_where_there_is_no_cache() -> None:
    assert "compiled again" in warmup.describe_cache(())["kernel cache"]


def test_warmup__counts_the_files_of_every_folder(tmp_path: Path) -> None:
    for name in ("ipf", "rank"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.nbi").write_bytes(b"12")
        (tmp_path / name / "b.nbc").write_bytes(b"345")
    (tmp_path / "rank" / "other").write_bytes(b"6")
    told = warmup.describe_cache((str(tmp_path / "ipf"), str(tmp_path / "rank")))
    assert told == {"kernel cache": str(tmp_path), "files": "4, 10 bytes"}
