"""The disparity ratios of the user's own data, before and after, on the terminal."""

from __future__ import annotations

import itertools

from purtensor._typing import Profile, Table
from purtensor.cli.output import show_table
from purtensor.fairness.disparity import disparity_ratio
from purtensor.tables.coded import encode
from purtensor.tables.marginal import marginal

_MOST_ROWS = 40


def show_disparities(f: Table, after: Table, response: str, protected: list[str], name: str) -> None:
    """Print p(y | s) / p(y | s0) of the data and of what `name` says; s0 is the protected profile with most mass."""
    groups = _masses(f, protected)
    largest = max(groups, key=groups.__getitem__)
    reference = dict(zip(protected, largest, strict=True))
    ratios = [
        disparity_ratio(table, response=response, protected=protected, reference=reference) for table in (f, after)
    ]
    rows = []
    for group, (outcome,) in itertools.product(groups, _masses(f, [response])):
        at = {response: outcome, **dict(zip(protected, group, strict=True))}
        if group != largest:
            rows.append((_text(group), str(outcome), *(f"{float(t.sel(at).item()):.4f}" for t in ratios)))
    title = f"disparity ratio, p({response} | group) / p({response} | {_text(largest)})"
    show_table(title, (", ".join(protected), response, "data", name), rows, _MOST_ROWS)


def _masses(f: Table, attributes: list[str]) -> dict[Profile, float]:
    coded = encode(marginal(f, attributes))
    return {coded.label(row): float(mass) for row, mass in enumerate(coded.values)}


def _text(profile: Profile) -> str:
    return ", ".join(str(category) for category in profile)
