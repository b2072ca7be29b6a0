"""Every benchmark runs once at its smallest size, so that none can rot. No time is judged here."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
from pathlib import Path

import pytest

from benchmarks import figures

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
KINDS = ("time_", "track_", "peakmem_")


def benchmark_classes():
    for path in sorted(FOLDER.glob("bench_*.py")):
        module = importlib.import_module(f"benchmarks.{path.stem}")
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if kind.__module__ == module.__name__:
                yield pytest.param(kind, id=f"{path.stem}.{kind.__name__}")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_modules__hold_nothing_that_asv_takes_for_a_benchmark(path):
    """asv makes an object of every class in any file here that has a method of such a name, imported ones too."""
    module = importlib.import_module(f"benchmarks.{path.stem}")
    for name, kind in inspect.getmembers(module, inspect.isclass):
        if any(method.startswith(KINDS) for method in dir(kind)):
            assert path.name.startswith("bench_"), name
            assert kind.__module__ == module.__name__, name


@pytest.mark.parametrize("kind", list(benchmark_classes()))
def test_benchmark__runs_at_its_smallest_size(kind, monkeypatch):
    monkeypatch.delenv("PURTENSOR_BENCH_HEAVY", raising=False)
    assert len(kind.params) == len(kind.param_names)
    sizes, *others = kind.params
    for choices in itertools.product(sizes[:1], *others):
        run_once(kind(), choices)


def run_once(benchmark, choices):
    if hasattr(benchmark, "setup"):
        benchmark.setup(*choices)
    measured = [name for name in dir(benchmark) if name.startswith(KINDS)]
    assert measured
    for name in measured:
        value = getattr(benchmark, name)(*choices)
        if name.startswith("track_"):
            assert math.isfinite(value)
            assert value > 0
            assert getattr(benchmark, name).unit
    if hasattr(benchmark, "teardown"):
        benchmark.teardown(*choices)


def test_figures__a_line_with_a_ratio(capsys):
    assert figures.main(["solve-a", "--rounds", "3"]) == 0
    *_, line = capsys.readouterr().out.splitlines()
    what, against, ratio, spread, *_ = [cell.strip() for cell in line.strip("|").split("|")]
    assert (what, against) == ("a: IPF to 1e-10", "numpy loop")
    lowest, highest = map(float, spread.split(" - "))
    assert 0 < lowest <= float(ratio) <= highest
    assert "19 sweeps, 19 theirs" in line


def test_figures__list_and_unknown_names(capsys):
    assert figures.main(["--list", "--heavy"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(figures.FIGURES)
    with pytest.raises(SystemExit):
        figures.main(["nothing"])
    assert "sweep-b" in capsys.readouterr().err


@pytest.mark.parametrize(("seconds", "text"), [(2.5, "2.5 s"), (0.0123, "12.3 ms"), (4e-6, "4 us"), (7.5e-8, "75 ns")])
def test_duration__in_a_unit_that_suits(seconds, text):
    assert figures.duration(seconds) == text
