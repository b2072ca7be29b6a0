"""What needs a package that is not installed says so in our words, with the smallest extra that brings it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import purtensor as pt

CALLS = {
    "pt.plots": ("matplotlib", "plot"),
    "projected.plot()": ("matplotlib", "plot"),
    "compared.plot()": ("matplotlib", "plot"),
    "curve.plot()": ("matplotlib", "plot"),
    "compared.to_markdown()": ("tabulate", "report"),
    "compared.to_latex()": ("jinja2", "report"),
    "reports.write_calibration_report(calibrated, 'c.html')": ("jinja2", "report"),
    "pt.sklearn": ("scikit-learn", "sklearn"),
    "pt.save(table, 't.nc')": ("netCDF4", "io"),
    "pt.store_table(table, 't.zarr')": ("zarr", "distributed"),
    "pt.results.open_table('stored.zarr')": ("zarr", "distributed"),
    "pt.resume('stored.zarr')": ("dask", "distributed"),
    "pt.tabulate('t.xlsx')": ("openpyxl", "excel"),
    "pt.tabulate('t.sav')": ("pyreadstat", "spss"),
}
BLOCKED = ("matplotlib", "tabulate", "jinja2", "sklearn", "netCDF4", "zarr", "dask", "openpyxl", "pyreadstat")

PROGRAM = f"""
import json, sys
from importlib import import_module
from pathlib import Path
sys.modules.update(dict.fromkeys({BLOCKED!r}))
import purtensor as pt
table = pt.tabulate({{"a": ["x", "y", "x", "y"], "b": ["p", "p", "q", "q"]}}, weights=[1, 2, 3, 5])
reports = import_module("purtensor.report.calibration")
projected = pt.project(table, pt.marginals_of(table, ["a", "b"]))
compared = pt.compare(["a"], solvers=["ipf"], repetitions=1)
curve = pt.parity_curve(table, response="a", protected="b", slacks=[0, 0.01])
calibrated = pt.calibrate({{"a": ["x", "y"]}}, projected.constraints[0])
for ending in ("xlsx", "sav"):
    Path(f"t.{{ending}}").touch()
told = {{}}
for call in {list(CALLS)!r}:
    try:
        eval(call)
    except ImportError as error:
        told[call] = str(error)
    except Exception as error:
        told[call] = f"another error: {{error!r}}"
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("without")
    pt.store_table(pt.tabulate({"a": ["x", "y"]}), folder / "stored.zarr")
    words = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=folder)
    return json.loads(done.stdout)


@pytest.mark.parametrize("call", CALLS)
def test_call__names_the_package_and_the_smallest_extra(call: str, told: dict[str, str]) -> None:
    package, extra = CALLS[call]
    assert re.search(rf"\b{package}: pip install 'purtensor\[{extra}\]'$", told.get(call, "no error"))


@pytest.mark.parametrize(("package", "extra"), sorted({*CALLS.values()}))
def test_extra__brings_the_package(package: str, extra: str) -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    brought = {re.split(r"[^\w-]", each)[0].lower() for each in project["optional-dependencies"][extra]}
    assert package.lower() in brought
