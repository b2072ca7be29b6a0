"""How fast iterative proportional fitting converges to a projection, and what slows it down, in labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from purtensor._options import is_count, is_number, items_of
from purtensor._printing import Shown
from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.projection.result import Projection, require_projection
from purtensor.projection.solved import arrays_of, in_its_engine
from purtensor.solving.convergence.linear_sweep import LinearSweep
from purtensor.solving.convergence.rates import Spectrum, distinct_rates, spectrum_of
from purtensor.solving.convergence.trend import Trend, trend_of
from purtensor.solving.problem import LabelledProblem
from purtensor.tables.coded import encode
from purtensor.tables.layouts import to_sparse

_SHOWN = 10
"""So many profiles are shown in a notebook."""

_PAIR = 0.05
"""Leading rates closer than this take turns for long: both are reported."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConvergenceRate(Shown):
    """The asymptotic rate of iterative proportional fitting at a projection (notes/rates.md).

    Attributes
    ----------
    sweeps_per_decade
        How many sweeps divide the error by ten in the end; 0 where a few sweeps leave none, inf where it is never.
    pair
        The sweeps per decade of the two slowest errors where they differ by less than 5 %, else None: what is seen lies
        between them, often for longer than a run lasts.
    eigenvalues
        The leading ones of the linearised sweep, largest modulus first.
    order, relaxation
        Of the sweeps.
    mode
        The slowest error in labels: a table of the relative deviations of the profiles' masses, the largest being 1.
    share
        Each profile's share of the squared dual norm of the slowest error; total 1.
    trend
        How the residuals of the projection's own run fell, where it was a long one.
    implied_zeros
        The profiles that the constraints force to zero; None where none are known. With them in the support, sweeps
        converge only sublinearly, and the rate is that without them.
    """

    sweeps_per_decade: float
    pair: tuple[float, float] | None
    eigenvalues: tuple[complex, ...] = field(repr=False)
    order: tuple[int, ...]
    relaxation: float
    mode: Table = field(repr=False)
    share: Table = field(repr=False)
    trend: Trend
    implied_zeros: Table | None = field(repr=False)

    def summary(self) -> dict[str, str]:
        """Return what was found as text, one line each."""
        pair = "" if self.pair is None else f"; two errors take turns, {self.pair[0]:.6g} and {self.pair[1]:.6g}"
        return {
            "sweeps for a factor of ten": f"{self.sweeps_per_decade:.6g}{pair}",
            "order": " ".join(str(position) for position in self.order),
            "relaxation": f"{self.relaxation:.6g}",
            "run": self.trend.value,
            "zeros": "" if self.implied_zeros is None else "the constraints force zeros: the rate is that without them",
        }

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the profiles that have most of the slowest error."""
        shares = to_sparse(self.share).to_series().rename("share")
        return {"slowest error": shares.nlargest(_SHOWN).to_frame()}

    def slow_profiles(self, number: int = 10) -> pd.DataFrame:
        """Return the profiles that carry most of the slowest error: their labels, `share`, and deviation `mode`."""
        coded = encode(self.share)
        rows = np.argsort(-coded.values, kind="stable")[:number]
        names = coded.domain.attributes
        labels = {
            name: categories.take(code[rows])
            for name, categories, code in zip(names, coded.domain.categories, coded.codes, strict=True)
        }
        mode = self.mode.values.reshape(-1)[coded.positions[rows]]
        return pd.DataFrame({**labels, "share": coded.values[rows], "mode": mode})

    def slow_categories(self) -> pd.DataFrame:
        """Return the share of the slowest error that the profiles of each category carry, largest first."""
        coded = encode(self.share)
        parts = []
        for name, categories, code in zip(coded.domain.attributes, coded.domain.categories, coded.codes, strict=True):
            share = np.bincount(code, coded.values, len(categories))
            parts.append(pd.DataFrame({"attribute": name, "category": categories.astype(object), "share": share}))
        found = pd.concat(parts, ignore_index=True)
        return found.sort_values("share", ascending=False, kind="stable", ignore_index=True)


@in_its_engine
def convergence_rate(
    result: Projection, *, order: Sequence[int] | None = None, relaxation: float = 1.0
) -> ConvergenceRate:
    """Return the asymptotic rate of iterative proportional fitting at a projection, and which profiles are slow.

    It comes from the leading eigenvalues of the sweep linearised there, whatever solver found the projection.

    Parameters
    ----------
    result
        A projection; of one that has not converged the rate at its table is returned, which is not the final one.
    order, relaxation
        Of the sweeps, as in `IPF`.

    Raises
    ------
    InvalidOptionError
        An order that is not a permutation of the constraints, or a relaxation outside of (0, 2).
    TooLargeError
        The dependencies between the rows are beyond the memory.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> rate = pt.convergence_rate(pt.project(problem.reference, problem.constraints))
    >>> 5600 < rate.sweeps_per_decade < 5900, rate.pair is not None
    (True, True)
    >>> list(rate.slow_profiles(1).columns)
    ['y', 's', 'x', 'share', 'mode']
    """
    labelled, sweep = sweep_of(result, order=order, relaxation=relaxation)
    spectrum = spectrum_of(sweep)
    # conjugate eigenvalues have one rate, and count once
    rates = distinct_rates(spectrum.eigenvalues)
    # errors of r1 > r2 sweeps a decade part by a factor of ten after 1 / (1 / r2 - 1 / r1) sweeps only
    is_pair = len(rates) > 1 and rates[1] > (1.0 - _PAIR) * rates[0] and rates[0] > 0.0
    mode, share = _slowest(sweep, spectrum)
    zeros = result.diagnosis.implied_zeros if isinstance(result.diagnosis, Diagnosis) else None
    trace = result.trace
    return ConvergenceRate(
        sweeps_per_decade=rates[0],
        pair=(rates[0], rates[1]) if is_pair else None,
        eigenvalues=tuple(complex(value) for value in spectrum.eigenvalues),
        order=tuple(sweep.order.tolist()),
        relaxation=float(relaxation),
        mode=_on_profiles(labelled, mode, "mode"),
        share=_on_profiles(labelled, share, "share"),
        trend=trend_of(trace["iteration"].values, trace["residual"].values),
        implied_zeros=zeros if zeros is not None and zeros.size else None,
    )


def sweep_of(
    result: Projection, *, order: Sequence[int] | None = None, relaxation: float = 1.0
) -> tuple[LabelledProblem, LinearSweep]:
    """Return the linearised sweep at a projection, and the problem in whose order its profiles and rows are.

    Raises
    ------
    InvalidOptionError
        An order that is not a permutation of the constraints, or a relaxation outside of (0, 2).
    """
    require_projection(result)
    count = len(result.constraints)
    if order is not None and not _is_permutation(order, count):
        raise InvalidOptionError(f"order must list the positions 0 to {count - 1} of the constraints, got {order!r}")
    if not (is_number(relaxation) and 0.0 < relaxation < 2.0):
        raise InvalidOptionError(f"relaxation must be an exponent in (0, 2), 1 for none, got {relaxation!r}")
    # on the face where there is one: zeros that are forced would make the rate sublinear
    labelled, masses = arrays_of(result)
    return labelled, LinearSweep.at(labelled.arrays, masses, order, float(relaxation))


def _is_permutation(order: object, count: int) -> bool:
    positions = items_of(order)
    return positions is not None and all(map(is_count, positions)) and sorted(positions) == list(range(count))


def _slowest(sweep: LinearSweep, spectrum: Spectrum) -> tuple[FloatArray, FloatArray]:
    """Return the slowest error's relative deviations, scaled to a largest of 1, and the profiles' shares of it."""
    slowest = spectrum.slowest
    real, imaginary = (sweep.exponents(np.ascontiguousarray(part)) for part in (slowest.real, slowest.imag))
    # shares of the p-weighted norm, in which the sweep is a product of projections
    squares = sweep.masses * (real**2 + imaginary**2)
    if not squares.any():
        return np.zeros_like(real), squares
    peak = int(np.argmax(real**2 + imaginary**2))
    # an eigenvector has any phase: this one makes the largest deviation real, and 1
    turned = np.real((real + 1j * imaginary) / (real[peak] + 1j * imaginary[peak]))
    return np.asarray(turned), np.asarray(squares / squares.sum())


def _on_profiles(labelled: LabelledProblem, values: FloatArray, name: str) -> Table:
    return labelled.table(values, name=name)
