"""What passes over parts add up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from purtensor._typing import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What passes over parts found.

    Attributes
    ----------
    sums
        Numbers and arrays that are added up.
    largest
        Numbers of which the largest counts.
    logs
        Logarithms of what is added up, for sums that may be as small as no float64 is.
    """

    sums: dict[str, Any] = field(default_factory=dict)
    largest: dict[str, float] = field(default_factory=dict)
    logs: dict[str, FloatArray] = field(default_factory=dict)


def add_tallies(parts: list[Tally]) -> Tally:
    """Return the tally of several: added from the left, NaN passing on."""
    sums, largest, logs = dict(parts[0].sums), dict(parts[0].largest), dict(parts[0].logs)
    for part in parts[1:]:
        for name, terms in part.logs.items():
            # a sum of numbers below float64 is the logaddexp of their logarithms
            logs[name] = np.logaddexp(logs[name], terms)
        for name, value in part.sums.items():
            sums[name] = sums[name] + value
        for name, value in part.largest.items():
            # np.maximum passes on NaN, which Python's max may lose
            largest[name] = float(np.maximum(largest[name], value))
    return Tally(sums, largest, logs)
