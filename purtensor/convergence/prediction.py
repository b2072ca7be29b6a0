"""What is known of the rate of iterative proportional fitting before a solve, in labels and in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from purtensor._printing import Shown, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class WeakLink:
    """Two parts of a slab that are connected by very little mass.

    Attributes
    ----------
    where
        The categories that all its profiles share, such as {"x": "x17"}; empty where the two constraints share
        no attribute.
    first, second
        The rows of each piece as text; the first piece is the smaller one.
    masses
        The mass of the profiles within each piece, of a total of 1.
    joined, profiles
        The mass of the profiles between the pieces, of a total of 1, and how many these are.
    sweeps_per_decade
        The sweeps per decade due to this link alone.
    """

    where: dict[str, object]
    first: tuple[str, ...]
    second: tuple[str, ...]
    masses: tuple[float, float]
    joined: float
    profiles: int
    sweeps_per_decade: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prediction(Shown):
    """The predicted asymptotic rate of iterative proportional fitting, in sweeps per decade, and its explanation.

    Attributes
    ----------
    sweeps_per_decade
        Of the sweep linearised at the table that was requested; 0 where a few sweeps leave nothing.
    estimate
        The larger of `slab` and `merged`, of those that are known.
    slab
        Sweeps a decade of alternating between the two constraints that are closest to each other; for PUR these are
        utility and realism, which meet slab by slab. NaN where no pair was examined.
    merged
        Sweeps a decade when these two are one step: those of `IPF(blocks=...)`; 0 for two constraints. NaN where it was
        left out.
    lower, upper
        Bounds on the sweeps per decade of the linearised sweep; 0 and inf where none are known.
    proved
        Whether the bounds hold for the sweep at the exact solution, by the projection's `log_ratio_bound`, and not only
        for that at the table asked for. The eigenvalues that they come from are computed in float64, to about 1e-5.
    pair
        The attributes of the two constraints that are closest; None where no pair was examined.
    weakest
        The link that makes them slow; None where none was searched for.
    notes
        Quantities that were not computed, with the reasons.
    """

    sweeps_per_decade: float
    estimate: float
    slab: float
    merged: float
    lower: float
    upper: float
    proved: bool
    pair: tuple[tuple[str, ...], tuple[str, ...]] | None
    weakest: WeakLink | None
    notes: tuple[str, ...] = field(default=())

    @property
    def explanation(self) -> str:
        """An explanation of the rate, in sentences."""
        return " ".join(
            [_rate_text(self), *_link_text(self), *_describe_merging(self), *(f"{note}." for note in self.notes)]
        )

    def plot(self, *, title: str = "") -> Axes:
        """Return axes with the rate between its bounds; see `purtensor.plots.plot_prediction`."""
        return draw("plot_prediction", self, title=title)

    def summary(self) -> dict[str, str]:
        """Return what was found as text, one line each."""
        return {
            "sweeps for a factor of ten": number_text(self.sweeps_per_decade),
            "bounds": f"{number_text(self.lower)} to {number_text(self.upper)}{', proved' if self.proved else ''}",
            "explanation": self.explanation,
        }


def _rate_text(found: Prediction) -> str:
    if found.sweeps_per_decade == 0.0:
        return "Iterative proportional fitting converges in a few sweeps."
    return f"Iterative proportional fitting takes {number_text(found.sweeps_per_decade)} sweeps for a factor of ten."


def _link_text(found: Prediction) -> list[str]:
    link = found.weakest
    # where the pair as one block is slower still, its weakest link is not what slows the sweeps down
    if link is None or found.pair is None or not found.slab >= found.merged:
        return []
    one, other = ("(" + ", ".join(scope) + ")" for scope in found.pair)
    where = ", ".join(f"{name}={value}" for name, value in link.where.items())
    place = f"within {where}" if where else "between them"
    profiles = "one profile" if link.profiles == 1 else f"{link.profiles} profiles"
    return [
        f"{one} and {other} are closest: {place}, {_list_parts(link.first)} (mass {link.masses[0]:.2g}) and "
        f"{_list_parts(link.second)} (mass {link.masses[1]:.2g}) are joined by {profiles} of mass {link.joined:.2g} in "
        f"all, which alone makes {number_text(link.sweeps_per_decade)} sweeps."
    ]


def _list_parts(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return "{" + "; ".join(names[:_SHOWN]) + more + "}"


def _describe_merging(found: Prediction) -> list[str]:
    if found.pair is None or math.isnan(found.merged) or found.sweeps_per_decade == 0.0:
        return []
    one, other = ("(" + ", ".join(scope) + ")" for scope in found.pair)
    return [f"With {one} and {other} projected on as one block it takes {number_text(found.merged)}."]


def number_text(value: float) -> str:
    """Return a number of sweeps as it is read: whole from 100 on."""
    return f"{value:,.0f}" if 100.0 <= value < math.inf else f"{value:.3g}"
