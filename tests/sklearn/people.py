"""People to learn from: Adult's training rows, and a few drawn ones for which PUR has a solution."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

import purtensor as pt

PROTECTED = ["gender", "race"]


@cache
def adult_rows(split: str) -> tuple[pd.DataFrame, pd.Series]:
    """Return the rows of one split of Adult as predictors and income."""
    records = pt.to_records(pt.datasets.adult(split=split))
    return records.drop(columns="income"), records["income"]


@cache
def drawn_people(rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return a biased population: hiring depends on sex and skill, hours are fractional numbers."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], rows)
    skill = rng.choice(["low", "mid", "high"], rows)
    hours = rng.uniform(10, 50, rows).round(1)
    chance = 0.2 + 0.3 * (sex == "m") + 0.2 * (skill == "high") + 0.004 * hours
    hired = np.where(rng.random(rows) < chance, "yes", "no")
    return pd.DataFrame({"sex": sex, "skill": skill, "hours": hours}), pd.Series(hired, name="hired")
