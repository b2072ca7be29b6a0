"""The calling shape of R's mipfp, in Python spelling: `Ipfp(seed, target_list, target_data)`.

Written from the package's public manual. Axes count from 0 here, and dots in names are underscores.

Examples
--------
>>> import numpy as np
>>> from purtensor.compat import mipfp
>>> found = mipfp.Ipfp(np.ones((2, 2)), [[0], [1]], [np.array([4.0, 6.0]), np.array([3.0, 7.0])])
>>> found.conv, found.x_hat.round(9).tolist()
(True, [[1.2, 2.8], [1.8, 4.2]])
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.compat.arrays import check_lengths, fit_array
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InconsistentTargetsError, InvalidOptionError, NotConvergedError, NotConvergedWarning
from purtensor.projection.project import project
from purtensor.projection.result import Projection


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What `Ipfp` returns.

    Attributes
    ----------
    x_hat, p_hat
        The fitted table, and the same as probabilities.
    conv
        Whether every target is met to the tolerance.
    error_margins
        For each target the largest absolute miss, in the targets' own units.
    evol_stp_crit
        The largest miss, as a share of the total, of each recorded iteration.
    method
        Always "ipfp".
    projection
        The Projection behind it, with its proof, trace and potentials.
    """

    x_hat: FloatArray
    p_hat: FloatArray
    conv: bool
    error_margins: FloatArray
    evol_stp_crit: FloatArray
    method: str
    projection: Projection = field(repr=False)


def Ipfp(  # noqa: N802 - the name that users know
    seed: Any,
    target_list: Sequence[Any],
    target_data: Sequence[Any],
    print: bool = False,
    iter: int = 1000,
    tol: float = 1e-10,
    tol_margins: float = 1e-10,
    na_target: bool = False,
) -> Fitted:
    """Return the table that has the target margins and is closest to the seed, called as mipfp's Ipfp is.

    What differs: `conv` is judged on the misses of all targets, not on how little the last iteration changed; targets
    of different totals are refused, not turned into probabilities; targets that no table on the seed's positive cells
    has raise InfeasibleError.

    Parameters
    ----------
    seed
        An array of numbers that are not negative.
    target_list
        For each target the axes that it is over, counted from 0.
    target_data
        The targets, their axes in the order of `target_list`.
    print
        Whether to show the misses on a terminal as they fall.
    iter
        Limit on the iterations of the solver.
    tol
        The largest miss of a target that counts as met, as a share of the total.
    tol_margins
        Taken for compatibility: targets must agree to the rounding of float64.
    na_target
        Must be False: a target with missing cells is not a marginal.

    Raises
    ------
    InvalidOptionError
        Axes that the table does not have, as many lists as there are targets, or `na_target`.
    InvalidTableError, InconsistentTargetsError, InfeasibleError
        Naming what does not fit.

    Warns
    -----
    NotConvergedWarning
        The targets are not met; `conv` is False then.

    Examples
    --------
    >>> import numpy as np
    >>> bool(Ipfp(np.ones((3, 3)), [[0], [1]], [np.ones(3), np.ones(3)]).error_margins.max() < 1e-9)
    True
    """
    if na_target:
        raise InvalidOptionError(
            "na_target is not supported: a target with missing cells is not a marginal; give the cells, or omit the "
            "target"
        )
    check_lengths(target_data, target_list, "axes")
    found: list[Projection] = []

    def solve(reference: Table, targets: list[Marginal]) -> Table:
        found.append(_project(reference, targets, tol, iter, progress=print))
        return found[0].table

    fitted = fit_array(seed, target_data, target_list, solve)
    (projection,) = found
    return Fitted(
        x_hat=fitted,
        p_hat=fitted / fitted.sum(),
        conv=projection.converged,
        error_margins=np.array([_largest_miss(fitted, target) for target in projection.constraints]),
        evol_stp_crit=projection.trace["residual"].values[1:],
        method="ipfp",
        projection=projection,
    )


def _project(
    reference: Table, targets: Sequence[Marginal], tolerance: float, limit: int, *, progress: bool
) -> Projection:
    """Return the projection; where it has not converged, with a warning."""
    try:
        return project(reference, targets, tolerance=tolerance, max_iterations=limit, progress=progress)
    except InconsistentTargetsError as error:
        raise InconsistentTargetsError(
            f"{error}; mipfp converts all to probabilities: to do the same, divide the seed and each target by its "
            "total"
        ) from None
    except NotConvergedError as error:
        if not isinstance(error.projection, Projection):
            raise
        # stacklevel 5: the line that called Ipfp
        warnings.warn(str(error), NotConvergedWarning, stacklevel=5)
        return error.projection


def _largest_miss(fitted: FloatArray, target: Marginal) -> float:
    axes = [int(name.removeprefix("axis ")) for name in target.scope]
    others = tuple(axis for axis in range(fitted.ndim) if axis not in axes)
    # a sum has its axes in ascending order, a target in the order of `target_list`
    sums = np.transpose(fitted.sum(axis=others), np.argsort(np.argsort(axes)))
    return float(np.abs(sums - target.target.values).max())
