"""Who and what the Adult study is about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from purtensor._typing import Profile, Table
from purtensor.fairness.disparity import disparity_ratio

RESPONSE = "income"
PROTECTED = ("gender", "race")
REFERENCE: Mapping[str, str] = MappingProxyType({"gender": "male", "race": "white"})
"""The protected profile that the others are compared with."""

POSITIVE = ">50K"
"""The response whose disparities are reported; the second of the two."""

DATA = "f"
MAX_ENT = "MaxEnt"


def ratios(table: Table) -> dict[Profile, float]:
    """Return p(>50K | s) / p(>50K | male, white) for each protected profile but the reference."""
    ratio = disparity_ratio(table, response=RESPONSE, protected=PROTECTED, reference=REFERENCE)
    told: dict[Any, float] = ratio.to_series().to_dict()
    compared_with = tuple(REFERENCE[name] for name in PROTECTED)
    return {
        tuple(protected): value
        for (income, *protected), value in told.items()
        if income == POSITIVE and tuple(protected) != compared_with
    }
