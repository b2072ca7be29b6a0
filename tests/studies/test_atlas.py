"""The atlas: drawn anew where it is quick, and against predictions that share no algebra with it."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from benchmarks.atlas import SEEDS, Spectrum, counts_of, grid
from purtensor.problems.pur import regularize_masses
from purtensor.studies.atlas import GRID, PATH, atlas, laws, powers

TOLD = atlas()
CHOSEN = [7, 1234, 4321, 6033, 8090, 9857, 11205, 12000]


def test_atlas__has_the_whole_grid_in_a_small_file():
    assert len(TOLD) == np.prod([len(values) for values in GRID.values()]) * SEEDS == 12_096
    assert TOLD["rate"].notna().sum() >= 10_000
    assert PATH.stat().st_size < 500_000
    for name, values in GRID.items():
        assert sorted(TOLD[name].unique()) == sorted(values)


@pytest.mark.parametrize("number", CHOSEN)
def test_atlas__comes_out_again_and_is_what_predict_says(number):
    point = next(point for place, point in enumerate(grid()) if place == number)
    row = TOLD.iloc[number]
    assert all(row[name] == value for name, value in point.items())
    f = regularize_masses(counts_of(point), point["strength"])
    f /= f.sum()
    spectrum = Spectrum(f)
    p = spectrum.projection()
    if p is None:
        assert np.isnan(row["rate"])
        return
    again = spectrum.rates(p)
    for name, value in again.items():
        assert row[name] == pytest.approx(value, rel=1e-4, abs=1e-4)
    coords = {name: range(size) for name, size in zip("ysx", f.shape, strict=True)}
    table = xr.DataArray(f, dims=list("ysx"), coords=coords)
    found = pt.convergence.predict(table, pt.pur(table, response="y", protected="s"), at="solution")
    assert row["rate"] == pytest.approx(found.sweeps_per_decade, rel=1e-4)
    if found.pair == (("y", "x"), ("s", "x")):  # else another pair is closer
        assert row["merged"] == pytest.approx(found.merged, rel=1e-4)
        assert row["slab"] == pytest.approx(found.slab, rel=1e-4, abs=1e-4)


def test_laws__of_the_atlas_as_the_note_states_them():
    found = laws(TOLD).set_index("strength")
    assert found["p99"][1e-6] / found["p99"][1e-4] == pytest.approx(100, rel=0.01)
    assert found["grouped"][1.0] < 0.002 < 0.08 < found["grouped"][1e-6]
    assert (found["observed"] > 0.99).all()
    assert (found["pays"] > 0.5).all()


def test_powers__are_none_a_half_one_and_two():
    power = powers(TOLD)["power"]
    kinds = np.histogram(power, [-1.0, 0.25, 0.75, 1.25, 3.0])[0]
    assert kinds.tolist() == [1462, 37, 100, 3]
    assert len(power) == kinds.sum()
