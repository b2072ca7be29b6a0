"""Log-linear fits by R's loglin are projections of the uniform table: G2, X2 and degrees of freedom to all digits."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.constraints.system import align
from purtensor.tables.coded import encode
from tests.conftest import SHARED
from tests.constraints.exact import dense_matrix

DATA = Path(__file__).parent / "data"
FITS = list(csv.DictReader((DATA / "reference_fits.csv").read_text(encoding="utf-8").splitlines()))

each_fit = pytest.mark.parametrize("fit", FITS, ids=[f"{fit['file'][:-4]} {fit['model'][:30]}" for fit in FITS])


def counts_of(name):
    """The table of a file, dense."""
    path = DATA / name if (DATA / name).exists() else SHARED / "data" / "snapshot" / "tables" / name
    if not path.exists():
        pytest.skip(f"{name} cannot be redistributed, and the shared data folder is not beside this checkout")
    frame = pd.read_csv(path, keep_default_na=False)
    labels = [column for column in frame.columns if column != "count"]
    return frame.set_index(labels)["count"].astype(float).to_xarray().fillna(0.0)


def fitted(fit, **options):
    counts = counts_of(fit["file"])
    ones = counts.copy(data=np.ones(counts.shape))
    constraints = pt.marginals_of(counts, "~ " + fit["margins"])
    return counts, ones, constraints, pt.project(ones, constraints, tolerance=1e-13, **options)


def test_reference_fits__all_49_are_here():
    assert len(FITS) == 49
    assert sum((DATA / fit["file"]).exists() for fit in FITS) == 41


@each_fit
def test_reference_fits__deviances_to_the_printed_digits(fit):
    counts, _, _, result = fitted(fit)
    seen, expected = counts.values, result.table.values
    assert seen.sum() == int(fit["n"])
    assert int((expected == 0).sum()) == int(fit["fitted_zeros"])
    where = seen > 0
    deviance = 2 * float(np.sum(seen[where] * np.log(seen[where] / expected[where])))
    assert deviance == pytest.approx(float(fit["G2"]), abs=6e-9)  # eight decimals are printed
    if not math.isnan(float(fit["X2"])):
        pearson = float(np.sum((seen - expected) ** 2 / expected))
        assert pearson == pytest.approx(float(fit["X2"]), abs=6e-9)
    published = re.search(r"G2=([\d.]+)", fit["published"])
    if published:
        digits = len(published[1].partition(".")[2])
        assert abs(deviance - float(published[1])) <= 0.51 * 10.0**-digits


@each_fit
def test_reference_fits__degrees_of_freedom(fit):
    counts, ones, constraints, result = fitted(fit)
    found = pt.degrees_of_freedom(ones, constraints)
    if fit["fitted_zeros"] == "0":
        assert found == int(fit["df"])
    else:  # R counts the cells that empty margins force to zero
        alive = result.table.values.ravel() > 0
        matrix = dense_matrix(align(encode(ones), constraints))[:, alive]
        assert found == alive.sum() - np.linalg.matrix_rank(matrix)
        assert found < int(fit["df"])
    assert counts.size > found


@pytest.mark.parametrize("solver", [pt.IPF(), pt.Newton(), pt.GIS(), pt.LBFGS(), pt.IPF(acceleration=5)], ids=str)
@pytest.mark.parametrize("row", [1, 8, 12, 23])
def test_reference_fits__by_every_solver(row, solver):
    counts, _, _, result = fitted(FITS[row], solver=solver)
    where = counts.values > 0
    deviance = 2 * float(np.sum(counts.values[where] * np.log(counts.values[where] / result.table.values[where])))
    assert deviance == pytest.approx(float(FITS[row]["G2"]), abs=1e-7)
