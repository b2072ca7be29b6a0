"""The price of parity: how far one has to go from the data for how much of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from purtensor._printing import draw
from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import Marginal
from purtensor.errors import NotConvergedError
from purtensor.fairness.disparity import parity_violation
from purtensor.fairness.grid import check_steps, dataset_along, pairs_of, roles_beside, solve_steps
from purtensor.fairness.proxies import least_violating
from purtensor.fairness.pur import pur
from purtensor.fairness.roles import Roles
from purtensor.fairness.slacks import Slacks
from purtensor.information import kl_divergence
from purtensor.projection.deliver import require_uninterrupted
from purtensor.projection.project import project
from purtensor.projection.relax import build_relaxation
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.termination import Termination

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# of violations, the total being 1
_ROUNDING = 1e-11

_MEANINGS = {
    "kl": "nats: D(p || f)",
    "reached": "parity violation in L1, total mass 1",
    "multiplier": "nats: minus the slope of kl over slack",
    "bound": "nats: no distribution does better by more",
}


def parity_curve(f: Table, *, response: str, protected: Attributes, slacks: Iterable[float]) -> ParityCurve:
    """Return the least divergence from f for each allowed violation of parity, subject to utility and realism.

    For each slack it is the least D(p || f) over the distributions p with the utility and the realism of f whose
    parity violation, the sum of |p(y, s) - f(y) f(s)| for total mass 1, is at most the slack: 0 nats where the slack is
    the violation of f or more, and the divergence of the PUR projection at slack 0, if parity is feasible. After
    Ctrl-C the completed slacks are returned; the largest are computed first.

    Parameters
    ----------
    f
        The data, in counts or probabilities; usually regularized.
    response
        The name of one attribute.
    protected
        The names of one or more others.
    slacks
        The allowed violations, from 0 (parity) to 2, in any order.

    Returns
    -------
    ParityCurve
        An xarray.Dataset with a method `plot()`. Over `slack`, in the given order: `kl` in nats; `reached`, the
        violation of the distribution; `multiplier`, minus the slope of the curve, in nats (NaN at exact parity);
        `bound`, proved, in nats: no distribution with a violation of at most `reached` has a divergence that is lower
        by more; and `disparity_ratio`, p(y | s) / p(y | s0), over the response and the protected attributes, with s0
        the largest group. Infeasible slacks have NaN. The attributes hold `violation`, that of f, and
        `smallest_violation`, the least that can be reached; and after Ctrl-C `interrupted`, which slacks are missing.
        `relax(f, pur(f, ...), soft=0, penalty="l1", strength=multiplier)` gives the distribution itself.

    Raises
    ------
    UnknownAttributeError
        The table has no such attribute.
    InvalidOptionError
        A slack that is negative or not a number, no slack, or incompatible attributes.
    NotConvergedError
        A distribution could not be computed; the message names the slack.
    KeyboardInterrupt
        After Ctrl-C, if no slack was completed.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.problems.proxy(0.06).reference
    >>> curve = pt.parity_curve(f, response="y", protected="s", slacks=[0.3, 0.1, 0])
    >>> curve.kl.values.round(6).tolist()
    [0.0, 0.028417, 0.078112]
    """
    roles = roles_beside(f, response, protected, ("slack", *_MEANINGS))
    asked = check_steps("slacks", slacks, lambda steps: np.isfinite(steps) & (steps >= 0), "violations of 0 or more")
    own = parity_violation(f, response=response, protected=protected)
    curve = _Curve(f, roles, own)
    done, points, cut = solve_steps(asked, curve.solve)
    result = dataset_along(
        "slack",
        done,
        {name: ([getattr(point, name) for point in points], text) for name, text in _MEANINGS.items()},
        [point.pairs for point in points],
        f,
        roles,
    )
    result["slack"].attrs["long_name"] = "allowed parity violation in L1, total mass 1"
    attributes = {**result.attrs, "violation": own, "smallest_violation": curve.end.reached, **cut}
    return ParityCurve(result.data_vars, coords=result.coords, attrs=attributes)


class ParityCurve(xr.Dataset):  # type: ignore[no-untyped-call]
    """A curve that draws itself: `curve.plot()`, beside the plots of any Dataset, such as `curve.plot.scatter`."""

    __slots__ = ()

    @property
    def plot(self) -> CurvePlots:  # type: ignore[override]
        """What draws the curve when it is called."""
        return CurvePlots(self, super().plot)


class CurvePlots:
    """The plots of a curve."""

    def __init__(self, curve: ParityCurve, others: Any) -> None:
        self._curve, self._others = curve, others

    def __call__(self, *, title: str = "The price of parity") -> Axes:
        """Return axes with the price above the ratios; see `purtensor.plots.plot_parity_curve`."""
        return draw("plot_parity_curve", self._curve, title=title)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._others, name)


@dataclass(frozen=True, slots=True)
class _Point:
    kl: float
    reached: float
    multiplier: float
    bound: float
    pairs: Table | None


_UNREACHABLE = _Point(np.nan, np.nan, np.nan, np.nan, None)


class _Curve:
    """The points of a curve; those of smaller slacks begin with what was tried for larger ones."""

    def __init__(self, f: Table, roles: Roles, own: float) -> None:
        self._f, self._roles, self._own = f, roles, own
        conditions = pur(f, response=roles.response, protected=roles.protected)
        # 1.0 stands in for the strengths that Slacks tries
        self._labelled = build_relaxation(f, conditions, (0,), "l1", 1.0)
        self._slacks = Slacks(self._labelled.question, 0)
        self.end = self._find_end(conditions)

    def _find_end(self, conditions: tuple[Marginal, ...]) -> _Point:
        """Return the end of the curve: exact parity, or the smallest violation where that is out of reach."""
        projection = require_uninterrupted(project(self._f, conditions, solver=Newton(), on_failure="return"))
        if projection.converged:
            pairs = pairs_of(projection.table, self._roles)
            return _Point(projection.divergence, 0.0, np.nan, projection.bound, pairs)
        if projection.termination is not Termination.INFEASIBLE:
            raise NotConvergedError(f"exact parity: {projection.termination.value}", projection)
        relaxed = least_violating(self._f, conditions)
        pairs = pairs_of(relaxed.table, self._roles)
        return _Point(relaxed.divergence, relaxed.misses_l1[0], np.inf, relaxed.bound, pairs)

    def solve(self, slack: float) -> _Point:
        """Return the point of one slack."""
        f, roles = self._f, self._roles
        # f itself keeps to this slack
        if slack >= self._own:
            return _Point(0.0, self._own, 0.0, 0.0, pairs_of(f, roles))
        if slack < self.end.reached - _ROUNDING:
            return _UNREACHABLE
        if slack <= self.end.reached + _ROUNDING:
            return self.end
        within = self._slacks.within(slack)
        if not within.converged:
            raise NotConvergedError(f"slack {slack:g}, after {within.iterations} iterations: {within.ending}")
        table = self._labelled.table(within.answer.masses, "relaxation")
        reached = parity_violation(table, response=roles.response, protected=roles.protected)
        return _Point(kl_divergence(table, f), reached, within.strength, within.answer.bound, pairs_of(table, roles))
