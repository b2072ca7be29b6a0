"""Calibration: weights of records under categories, numbers within bounds, households; replicates beside a cold fit."""

from __future__ import annotations

from typing import Any

import numpy as np

import purtensor as pt
from benchmarks.interleaved import interleaved_seconds, ratio
from benchmarks.runs import Brief

SIZES = (10**3, 10**4, 10**5)


def people(rows: int) -> tuple[dict[str, Any], list[Any], np.ndarray]:
    """Return records of four categories and ten numbers, controls of all of them, and design weights."""
    rng = np.random.default_rng(3)
    records: dict[str, Any] = {f"c{k}": rng.integers(0, 10, rows) for k in range(4)}
    records |= {f"x{k}": rng.gamma(2.0, 1.0, rows) for k in range(10)}
    design = rng.uniform(0.5, 2.0, rows)
    wanted = design * np.exp(0.1 * (records["x0"] - records["x1"]) + 0.05 * (records["c0"] - 4.5))
    counts = [pt.total(1, by=f"c{k}", target=dict(enumerate(np.bincount(records[f"c{k}"], wanted)))) for k in range(4)]
    numbers = [pt.total(f"x{k}", target=float(wanted @ records[f"x{k}"])) for k in range(10)]
    return records, [*counts, *numbers], design


def homes(rows: int) -> dict[str, Any]:
    """Return what `calibrate` takes of households in twenty zones and sizes, with ages of their persons."""
    rng = np.random.default_rng(4)
    sizes = rng.integers(1, 6, rows)
    home = np.repeat(np.arange(rows), sizes)
    members = {"id": home, "age": rng.integers(0, 13, len(home))}
    records = {"id": np.arange(rows), "zone": rng.integers(0, 20, rows)}
    wanted = rng.uniform(8.0, 12.0, rows)
    controls = [
        pt.total(1, by="zone", target=dict(enumerate(np.bincount(records["zone"], wanted)))),
        pt.total(1, by="age", target=dict(enumerate(np.bincount(members["age"], wanted[home])))),
    ]
    return {"records": records, "constraints": controls, "members": members, "key": "id", "weights": np.full(rows, 9.0)}


class Calibrating(Brief):
    """From records to weights with their certificate."""

    params = (SIZES,)
    param_names = ("records",)

    def setup(self, rows):
        self.records, self.controls, self.design = people(rows)
        self.homes = homes(rows)
        pt.calibrate(**homes(100))  # the first call loads what the others find loaded

    def time_categories(self, rows):
        pt.calibrate(self.records, self.controls[:4], weights=self.design)

    def time_numbers_within_bounds(self, rows):
        pt.calibrate(self.records, self.controls, weights=self.design, bounds=(0.3, 3.0))

    def time_households(self, rows):
        pt.calibrate(**self.homes)

    def track_steps_within_bounds(self, rows):
        return pt.calibrate(self.records, self.controls, weights=self.design, bounds=(0.3, 3.0)).result.iterations

    track_steps_within_bounds.unit = "Newton steps"


class Refitting(Brief):
    """Replicates: how long one takes beside a calibration of its own."""

    params = ((10**3, 10**4),)
    param_names = ("records",)

    def setup(self, rows):
        self.records, self.controls, self.design = people(rows)
        self.fitted = pt.calibrate(self.records, self.controls, weights=self.design)
        drawn = np.random.default_rng(5).poisson(1.0, (rows, 10))
        self.replicates = self.design[:, None] * drawn

    def time_ten_refits(self, rows):
        self.fitted.refitted(self.replicates)

    def track_refit_over_fit(self, rows):
        seconds = interleaved_seconds(
            {
                "ten refits": lambda: self.fitted.refitted(self.replicates),
                "fit": lambda: pt.calibrate(self.records, self.controls, weights=self.design),
            },
            rounds=5,
        )
        return 0.1 * ratio(seconds, "ten refits", "fit")

    track_refit_over_fit.unit = "ratio"
