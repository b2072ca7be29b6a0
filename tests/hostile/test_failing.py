"""Calls while memory and disk fail: the right answer or a named error, no half file, and the same call works again.

An error is named where it is a PurtensorError, or MemoryError or OSError themselves, which `TooLargeError` and
`StoreError` are as well: who asks for these catches all.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.cli.main import main
from purtensor.outofcore.array_file import read_packed, write_packed
from purtensor.studies.members import run_members
from tests.hostile.callables import PUR, plain

pytestmark = pytest.mark.slow

resource = pytest.importorskip("resource", reason="limits are set on Unix only")
ROOT = Path(__file__).resolve().parents[2]
THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def large():
    rng = np.random.default_rng(0)
    labels = {"y": [f"label {i:02d}" for i in range(30)], "s": list(range(40))}
    return xr.DataArray(rng.random((30, 40)), coords=labels, dims=list(labels))


def one_member(rng):
    return {"value": rng.random(400)}


WRITERS = {
    "save a table, .nc": lambda to: pt.save(large(), to / "table.nc"),
    "save a result, .nc": lambda to: pt.save(pt.project(plain(), PUR), to / "result.nc"),
    "save a table, .parquet": lambda to: pt.save(large(), to / "table.parquet"),
    "save a table, .csv": lambda to: pt.save(large(), to / "table.csv"),
    "save a table, .csv.gz": lambda to: pt.save(large(), to / "table.csv.gz"),
    "store_table": lambda to: pt.store_table(large(), to / "table.zarr"),
    "write_packed": lambda to: write_packed(to / "part.bin", {"a": np.arange(5000)}, {}),
    "run_members": lambda to: run_members(one_member, 3, seed=1, store=to / "members.npz"),
}


def read_back(folder):
    """What is there, read: nothing that is there may be half."""
    for path in folder.iterdir():
        assert not path.name.endswith(".tmp"), path.name
        if path.suffix == ".zarr":
            pt.results.open_table(path).to_table()
        elif path.suffix == ".bin":
            read_packed(path)
        elif path.suffix == ".npz":
            run_members(one_member, 3, seed=1, store=path)
        else:
            pt.load(path)
    return sorted(path.name for path in folder.iterdir())


@contextlib.contextmanager
def files_no_longer_than(limit):
    """Whoever writes more gets an error from the system, Python and C libraries alike, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
@pytest.mark.parametrize("name", WRITERS)
def test_writing__to_a_disk_that_is_full_after_a_share_of_the_file(name, share, tmp_path):
    write, whole, folder = WRITERS[name], tmp_path / "whole", tmp_path / "full"
    whole.mkdir()
    folder.mkdir()
    write(whole)
    size = max(path.stat().st_size for path in whole.rglob("*") if path.is_file())
    with files_no_longer_than(int(share * size)), pytest.raises(OSError):  # noqa: PT011  (of any number)
        write(folder)
    assert read_back(folder) == []
    write(folder)
    assert read_back(folder) == read_back(whole)


CALLS = {"fsync": os, "replace": os, "open": builtins, "write": os, "mkdir": os, "rename": os}


@contextlib.contextmanager
def failing(name, number, monkeypatch, counted):
    """The n-th call of one name for writing fails as on a full disk; the first ones are counted."""
    place = CALLS[name]
    real = getattr(place, name)

    def call(*given, **named):
        if name == "open" and not set(str(given[1] if len(given) > 1 else named.get("mode", "r"))) & set("wax+"):
            return real(*given, **named)
        counted.append(1)
        if len(counted) == number:
            raise OSError(28, "No space left on device")
        return real(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(place, name, call)
        yield


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", WRITERS)
def test_writing__where_every_nth_call_fails(name, call, tmp_path, monkeypatch):
    write, counted = WRITERS[name], []
    (tmp_path / "whole").mkdir()
    with failing(call, -1, monkeypatch, counted):
        write(tmp_path / "whole")
    wanted = read_back(tmp_path / "whole")
    for number in spread_over(len(counted), 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            with failing(call, number, monkeypatch, []):
                write(folder)
        except OSError:
            assert set(read_back(folder)) <= set(wanted)
            shutil.rmtree(folder / "table.zarr", ignore_errors=True)  # whole, if it is there; no store replaces another
        else:
            assert read_back(folder) == wanted
            continue
        write(folder)
        assert read_back(folder) == wanted


def spread_over(count, most):
    """The first, the last and some between of 1 to count; all of them under the thorough profile."""
    numbers = range(1, count + 1)
    return list(numbers) if THOROUGH else sorted({*numbers[:: max(1, count // most)], *numbers[-1:]})


@pytest.mark.parametrize("words", ["project", "relax", "curve"])
@pytest.mark.parametrize("ending", [".nc", ".csv", ".parquet"])
def test_cli__a_full_disk_is_an_exit_code(words, ending, tmp_path, capsys):
    data = tmp_path / "data.csv"
    data.write_text("y,s,x\n" + "a,f,1\nb,m,1\na,m,2\nb,f,2\na,f,2\nb,m,2\na,m,1\nb,f,1\n" * 3)
    out = tmp_path / "out"
    out.mkdir()
    command = [words, str(data), "--response", "y", "--protected", "s", "--out", str(out / f"fair{ending}")]
    with files_no_longer_than(1):
        code = main(command)
    assert code == 2
    assert capsys.readouterr().err.startswith("purtensor: ")
    assert [path.name for path in out.iterdir()] == []


ALLOCATORS = (
    "empty",
    "zeros",
    "ones",
    "full",
    "empty_like",
    "zeros_like",
    "arange",
    "concatenate",
    "bincount",
    "array",
)
LARGE = 256  # bytes; tables of the tests are small

counts = pt.tabulate({name: [(7 * i) // (k + 2) % 3 for i in range(90)] for k, name in enumerate("ysxz")})

COMPUTED = {
    "tabulate": lambda: pt.tabulate({"y": np.arange(90) % 4, "s": np.arange(90) % 3}),
    "regularize": lambda: pt.regularize(counts, response="y"),
    "marginal": lambda: pt.marginal(counts, ["y", "s", "x"]),
    "to_dense": lambda: pt.to_dense(counts),
    "to_sparse": lambda: pt.to_sparse(pt.to_dense(counts)),
    "project": lambda: pt.project(counts, pt.marginals_of(counts + 1, "y s x | z")).table,
    "project by IPF": lambda: pt.project(counts, pt.marginals_of(counts + 1, "y s | s x"), solver=pt.IPF()).table,
    "diagnose": lambda: pt.diagnose(counts, pt.marginals_of(counts + 1, "y s | s x z")).verdict.value,
    "sample": lambda: pt.sample(counts, 1000, seed=3),
    "round_counts": lambda: pt.round_counts(counts / 7, 100),
    "predict": lambda: pt.predict(counts, pt.marginal(counts, ["s", "x", "z"]), response="y"),
    "kl_divergence": lambda: pt.kl_divergence(counts, counts + 1),
}


def same(one, other):
    return one.identical(other) if isinstance(one, xr.DataArray) else one == other


@contextlib.contextmanager
def failing_allocation(number, monkeypatch, counted):
    """The n-th array beyond a size, of all those that Python code asks numpy for, does not get its memory."""

    def instead(real):
        def allocate(*given, **named):
            made = real(*given, **named)
            if getattr(made, "nbytes", 0) >= LARGE:
                counted.append(1)
                if len(counted) == number:
                    raise MemoryError(f"unable to allocate {made.nbytes} bytes")
            return made

        return allocate

    with monkeypatch.context() as patch:
        for name in ALLOCATORS:
            patch.setattr(np, name, instead(getattr(np, name)))
        yield


@pytest.mark.parametrize("name", COMPUTED)
def test_computing__where_every_nth_allocation_fails(name, monkeypatch):
    call, counted = COMPUTED[name], []
    wanted = call()  # compiled as well
    with failing_allocation(-1, monkeypatch, counted):
        assert same(call(), wanted)
    assert counted
    for number in spread_over(len(counted), 8):
        try:
            with failing_allocation(number, monkeypatch, []):
                found = call()
        except MemoryError:
            pass
        else:
            assert same(found, wanted)
        assert same(call(), wanted)


LIMITED = """
import os, resource, sys, tempfile
from pathlib import Path
import numpy as np
import purtensor as pt
folder = Path(tempfile.mkdtemp(dir=sys.argv[1]))
rng = np.random.default_rng(0)
records = {f"a{i}": rng.integers(0, 6, 60_000) for i in range(6)}
counts = pt.tabulate(records)
constraints = pt.marginals_of(counts, "a0 a1 | a2 a3 | a4 a5")
reference = pt.uniform(counts)
table = pt.marginal(counts, ["a0", "a1", "a2", "a3", "a4"])
for kind in ("nc", "parquet", "csv.gz"):
    pt.save(table, folder / f"in.{kind}")
number = iter(range(99))
options = {"max_iterations": 10, "on_failure": "return", "certificate": False}
calls = {
    "tabulate": lambda: pt.tabulate(records),
    "project": lambda: pt.project(reference, constraints, **options).table,
    "IPF": lambda: pt.project(reference, constraints, solver=pt.IPF(), **options).table,
    "diagnose": lambda: pt.diagnose(reference, constraints).verdict.value,
    "sample": lambda: pt.sample(counts, 10**5, seed=1),
    "to_dense": lambda: pt.to_dense(counts),
    "to_records": lambda: pt.to_records(counts),
    "store": lambda: pt.store_table(table, folder / f"{next(number)}.zarr").profiles,
    **{f"save {kind}": lambda kind=kind: pt.save(table, folder / f"out.{kind}") for kind in ("nc", "parquet", "csv")},
    **{f"load {kind}": lambda kind=kind: pt.load(folder / f"in.{kind}") for kind in ("nc", "parquet", "csv.gz")},
}
same = lambda one, other: one.equals(other) if hasattr(one, "equals") else one == other
for name, call in calls.items():
    wanted = call()
    for mebibytes in (2, 9, 27):
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (mebibytes << 20), resource.RLIM_INFINITY))
        try:
            ended = "right" if same(call(), wanted) else "wrong"
        except (MemoryError, pt.PurtensorError) as error:
            ended = "named"
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(f"{name}, {mebibytes} MiB: {ended}", flush=True)
    print(f"{name}, after: {'right' if same(call(), wanted) else 'wrong'}", flush=True)
print(*sorted(name for name in os.listdir(folder) if not name.endswith(".zarr")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space are set on Linux only")
@pytest.mark.skipif(pd.__version__ < "3", reason="pandas 2 crashes in factorize where it gets no memory")
def test_computing__in_an_address_space_that_ends_soon(tmp_path):
    """The allocator is told to give memory back at once, so that each larger array asks the system for its own.

    Some room is left at least: where the interpreter finds none for an object of a few bytes, libraries crash in C.
    """
    giving_back = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", LIMITED, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env={**os.environ, **giving_back},
    )
    assert child.returncode == 0, child.stdout + child.stderr
    *told, files = child.stdout.splitlines()
    assert files.split() == ["in.csv.gz", "in.nc", "in.parquet", "out.csv", "out.nc", "out.parquet"]
    assert [line for line in told if not line.endswith(("right", "named"))] == []
    assert sum(line.endswith("named") for line in told) > 10
    assert [line for line in told if "after" in line and not line.endswith("right")] == []
