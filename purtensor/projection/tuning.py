"""The order of the constraints and the relaxation with which sweeps converge fastest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from purtensor._options import is_count
from purtensor._printing import Shown
from purtensor.errors import InvalidOptionError
from purtensor.projection.convergence import sweep_of
from purtensor.projection.result import Projection
from purtensor.projection.solved import in_its_engine
from purtensor.solving.convergence.rates import (
    best_relaxation_of,
    distinct_rates,
    orders_up_to_rotation,
    spectrum_of,
    sweeps_per_decade,
)

_SHOWN = 10
"""So many orders are shown in a notebook."""

_LITTLE = 0.01
"""Orders whose rates differ by less are equivalent; the first of them in the list is chosen."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestOrder(Shown):
    """The fastest order of the constraints of those compared.

    Attributes
    ----------
    order
        Positions of the constraints, for `IPF(order=...)`.
    sweeps_per_decade
        In that order.
    compared
        One line per order, fastest first: `order`, `sweeps_per_decade`.
    complete
        Whether every order was compared, rotations and reversals aside.
    """

    order: tuple[int, ...]
    sweeps_per_decade: float
    compared: pd.DataFrame = field(repr=False)
    complete: bool

    def summary(self) -> dict[str, str]:
        """Return what was found as text, one line each."""
        return {
            "order": " ".join(str(position) for position in self.order),
            "sweeps for a factor of ten": f"{self.sweeps_per_decade:.6g}",
            "compared": f"{len(self.compared)} orders{', all there are' if self.complete else ''}",
        }

    def frames(self) -> dict[str, pd.DataFrame]:
        """Return the fastest of the orders."""
        return {"fastest": self.compared.head(_SHOWN)}


@dataclass(frozen=True, slots=True, repr=False)
class BestRelaxation(Shown):
    """The relaxation with which late sweeps shrink the error most.

    Attributes
    ----------
    relaxation
        The exponent, for `IPF(relaxation=...)`.
    sweeps_per_decade, plain
        With it, and with 1.
    """

    relaxation: float
    sweeps_per_decade: float
    plain: float

    def summary(self) -> dict[str, str]:
        """Return what was found as text, one line each."""
        return {
            "relaxation": f"{self.relaxation:.6g}",
            "sweeps for a factor of ten": f"{self.sweeps_per_decade:.6g}, with 1: {self.plain:.6g}",
        }


@in_its_engine
def best_order(result: Projection, *, most: int = 60, seed: int = 0) -> BestOrder:
    """Return the order of the constraints in which sweeps converge fastest near a projection.

    Up to three constraints all orders are equally fast (notes/rates.md, equation 6).

    Parameters
    ----------
    result
        A projection; of one that has not converged the rates at its table decide.
    most
        How many orders to compare; when there are more, so many are drawn, and the given one is among them.
    seed
        Of the drawing: an integer.

    Raises
    ------
    InvalidOptionError
        `most` is less than 1, or the seed is not an integer.
    TooLargeError
        As in `convergence_rate`.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.generate("binary", seed=1, attributes=4)
    >>> found = pt.convergence.best_order(pt.project(problem.reference, problem.constraints))
    >>> len(found.compared), found.complete
    (60, True)
    """
    if not (is_count(most) and most >= 1):
        raise InvalidOptionError(f"most must be how many orders to compare, at least 1, got {most!r}")
    if not is_count(seed):
        raise InvalidOptionError(f"seed must be a non-negative integer, got {seed!r}")
    _, sweep = sweep_of(result)
    count = len(result.constraints)
    orders = orders_up_to_rotation(count, most, seed)
    rates = [
        distinct_rates(spectrum_of(replace(sweep, order=np.array(order, dtype=np.int64))).eigenvalues)[0]
        for order in orders
    ]
    fastest = min(rates)
    # the first of equivalents, not the fastest: rounding must not decide, and the given order comes first
    best = next(n for n, rate in enumerate(rates) if rate <= (1.0 + _LITTLE) * fastest)
    compared = pd.DataFrame({"order": orders, "sweeps_per_decade": rates})
    compared = compared.sort_values("sweeps_per_decade", kind="stable", ignore_index=True)
    # up to three constraints all orders are one
    return BestOrder(orders[best], rates[best], compared, complete=count <= 3 or most >= _orders(count))


def _orders(count: int) -> int:
    product = 1
    # (count - 1)! / 2 orders, as rotations and reversals have the same rate (notes/rates.md, equation 6)
    for factor in range(3, count):
        product *= factor
    return product


@in_its_engine
def best_relaxation(result: Projection) -> BestRelaxation:
    """Return the exponent with which relaxed sweeps converge fastest near a projection, in the order as given.

    Parameters
    ----------
    result
        A projection; of one that has not converged the rates at its table decide.

    Raises
    ------
    TooLargeError
        As in `convergence_rate`.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b_lam0")
    >>> best = pt.convergence.best_relaxation(pt.project(problem.reference, problem.constraints))
    >>> 1.4 < best.relaxation < 1.55, best.sweeps_per_decade < best.plain / 4
    (True, True)
    """
    _, sweep = sweep_of(result)
    leading = spectrum_of(sweep).eigenvalues[0]
    relaxation, factor = best_relaxation_of(sweep, complex(leading))
    return BestRelaxation(relaxation, sweeps_per_decade(factor), sweeps_per_decade(complex(leading)))
