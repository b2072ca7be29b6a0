"""The page to enter the code by says what is so: rooms, import layers, and the files on the way of a call."""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
import xarray as xr

import purtensor as pt

PACKAGE = Path(pt.__file__).resolve().parent
ROOT = PACKAGE.parent
NOTE = Path(__file__).resolve().parents[1] / "notes" / "architecture.md"

pytestmark = pytest.mark.skipif(not NOTE.exists(), reason="installed without its notes")


def journeys() -> dict[str, list[tuple[str, str]]]:
    """Return the files and functions of each journey, by the first words of its heading."""
    found = {}
    for section in NOTE.read_text().split("\n### ")[1:]:
        heading = section.split(":")[0].split("\n")[0]
        found[heading] = re.findall(r"^\| `([\w/]+\.py)` \| `([\w.]+)` \|", section, re.M)
    return found


def rooms() -> list[list[str]]:
    return [re.findall(r"`(\w+)`", row) for row in re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", NOTE.read_text(), re.M)]


def test_rooms__are_the_layers_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [re.findall(r"\w+", layer) for layer in contracts[0]["layers"]]
    assert rooms() == layers[:-1]  # the last one are single files that every layer shares


def test_rooms__are_all_there_are() -> None:
    named = {name for room in rooms() for name in room}
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert folders <= named
    assert all((PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file() for name in named)


@pytest.mark.parametrize(
    ("journey", "most"), [("Plain IPF", 7), ("Dense Newton", 12), ("A verdict", 8), ("On disk", 9)]
)
def test_journeys__are_short(journey: str, most: int) -> None:
    way = journeys()[journey]
    assert 5 < len(way) <= most
    assert len({file for file, _ in way}) == len(way)


@pytest.mark.parametrize("journey", ["Plain IPF", "Dense Newton", "A verdict", "On disk"])
def test_journeys__name_functions_that_are_there(journey: str) -> None:
    for file, function in journeys()[journey]:
        thing = importlib.import_module("purtensor." + file.removesuffix(".py").replace("/", "."))
        for name in function.split("."):
            thing = getattr(thing, name)
        assert callable(thing), (file, function)


def stacks_of(work: Callable[[], object], wanted: set[tuple[str, str]]) -> dict[tuple[str, str], list[set[str]]]:
    """Return for each wanted function that some work calls the files of the package on the stack of its calls."""
    found: dict[tuple[str, str], list[set[str]]] = {}
    names = {function for _, function in wanted}

    def of_package(frame: FrameType) -> str:
        path = frame.f_code.co_filename
        return path.removeprefix(f"{PACKAGE}/") if path.startswith(str(PACKAGE)) else ""

    def watch(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or frame.f_code.co_qualname not in names:
            return
        key = of_package(frame), frame.f_code.co_qualname
        if key not in wanted or len(found.get(key, [])) > 20:
            return
        stack: set[str] = set()
        at: FrameType | None = frame
        while at is not None:
            stack.add(of_package(at))
            at = at.f_back
        found.setdefault(key, []).append(stack - {""})

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(before)
    return found


def question() -> tuple[xr.DataArray, tuple[pt.Marginal, ...]]:
    rng = np.random.default_rng(7)
    codes = np.indices((3, 4, 2)).reshape(3, -1)
    records = dict(zip("yxs", codes, strict=True))
    table = pt.tabulate(records, weights=rng.integers(1, 9, codes.shape[1]))
    other = pt.tabulate(records, weights=rng.integers(1, 9, codes.shape[1]))
    return table, pt.marginals_of(other, [("y", "x"), ("x", "s"), ("y", "s")])


def follow(journey: str, work: Callable[[], object]) -> None:
    """Check that a reader comes from file to file: each function is called with no other file on the stack."""
    way = [(file, function) for file, function in journeys()[journey] if not file.startswith("kernels/")]
    stacks, files = stacks_of(work, set(way)), {file for file, _ in way}
    assert len(way) >= 5
    assert [function for function in way if function not in stacks] == []
    others = {function: min((stack - files for stack in stacks[function]), key=len) for function in way}
    assert {function: left for function, left in others.items() if left} == {}


def test_journeys__lead_from_file_to_file() -> None:
    table, constraints = question()
    follow("Plain IPF", lambda: pt.project(table, constraints, solver=pt.IPF()))
    follow("Dense Newton", lambda: pt.project(table, constraints, solver=pt.Newton()))
    follow("A verdict", lambda: pt.diagnose(table, constraints))


def test_journeys__on_disk_lead_from_file_to_file(tmp_path: Path) -> None:
    dask = pytest.importorskip("dask")
    pytest.importorskip("zarr")
    table, constraints = question()
    stored = pt.store_table(table, tmp_path / "t.zarr")
    with dask.config.set(scheduler="synchronous"):
        follow("On disk", lambda: pt.project(stored, constraints))
