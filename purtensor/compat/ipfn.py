"""The calling shape of the package ipfn: change `from ipfn import ipfn` to `from purtensor.compat import ipfn`.

Examples
--------
>>> import numpy as np
>>> from purtensor.compat import ipfn
>>> m = np.array([[8.0, 4.0, 6.0, 7.0], [3.0, 6.0, 5.0, 2.0], [9.0, 11.0, 3.0, 1.0]])
>>> aggregates = [np.array([20.0, 18.0, 22.0]), np.array([18.0, 16.0, 12.0, 14.0])]
>>> fitted = ipfn.ipfn(m, aggregates, [[0], [1]]).iteration()
>>> fitted.sum(axis=0).round(9).tolist()
[18.0, 16.0, 12.0, 14.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import is_number
from purtensor._typing import Table
from purtensor.compat.arrays import check_lengths, fit_array
from purtensor.compat.frames import frame_table, series_target
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError, NotConvergedError
from purtensor.projection.project import project
from purtensor.projection.result import Projection

_TOLERANCE = 1e-10
_LEAST_TOLERANCE = 1e-15
"""A smaller share of the total is rounding."""


class ipfn:  # noqa: N801 - the name that users know
    """Fit a table to marginals, called as the package ipfn is; solved and proved by `pt.project`.

    What differs: rows and columns of a data frame keep their order; convergence is judged over all targets and is
    always at least 1e-10 of the total; contradictory or impossible targets raise, as does not converging where no
    flag would show it.

    Parameters
    ----------
    original
        A numpy array, or a data frame with a column of weights. It is not changed.
    aggregates
        One target for each entry of `dimensions`: arrays (axes in the order of the entry), or Series whose index
        holds the categories.
    dimensions
        For each target its axes, counted from 0, or its column names.
    weight_col
        The column of weights of a data frame, by any name.
    convergence_rate
        The largest relative miss of a target that counts as converged.
    max_iteration
        Limit on the iterations of the solver.
    verbose
        0: the table is returned; 1: table and a flag, 1 for converged; 2: also a data frame with the largest miss
        of each recorded iteration, counted from 0, as a share of the total.
    rate_tolerance
        Taken for compatibility: a solver that no longer moves is not called converged here.

    Attributes
    ----------
    projection
        After `iteration`, the Projection with its proof, trace and potentials.

    Raises
    ------
    InvalidOptionError
        Something else than these.
    """

    def __init__(
        self,
        original: np.ndarray[Any, Any] | pd.DataFrame,
        aggregates: Sequence[Any],
        dimensions: Sequence[Sequence[Any]],
        weight_col: Any = "total",
        convergence_rate: float = 1e-5,
        max_iteration: int = 500,
        verbose: int = 0,
        rate_tolerance: float = 1e-8,
    ) -> None:
        if not isinstance(verbose, int | np.integer) or verbose not in (0, 1, 2):
            raise InvalidOptionError(f"verbose must be 0, 1 or 2, got {verbose!r}")
        if not isinstance(original, (np.ndarray, pd.DataFrame)):
            raise InvalidOptionError(f"original must be a numpy array or a data frame, got {type(original).__name__}")
        check_lengths(aggregates, dimensions, "dimensions")
        if not (is_number(convergence_rate) and convergence_rate > 0):
            raise InvalidOptionError(f"convergence_rate must be a positive relative miss, got {convergence_rate!r}")
        self.original = original
        self.aggregates = aggregates
        self.dimensions = dimensions
        self.weight_col = weight_col
        self.conv_rate = convergence_rate
        self.max_itr = max_iteration
        self.verbose = verbose
        self.rate_tolerance = rate_tolerance
        self.projection: Projection | None = None

    def iteration(self) -> Any:
        """Return the fitted table, and by `verbose` the flag and the misses.

        Raises
        ------
        InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
            Input that does not fit together, naming what does not.
        InfeasibleError
            No table on the positive cells of the original meets the targets.
        NotConvergedError
            With `verbose=0`, where there is no flag to show it.
        """
        fitted: Any
        if isinstance(self.original, pd.DataFrame):
            fitted = self._fit_frame(self.original)
        else:
            fitted = fit_array(self.original, self.aggregates, self.dimensions, self._project)
        if self.verbose == 0:
            return fitted
        assert self.projection is not None  # fitting has set it
        flag = int(self.projection.converged)
        return (fitted, flag) if self.verbose == 1 else (fitted, flag, self._misses(self.projection))

    def _fit_frame(self, original: pd.DataFrame) -> pd.DataFrame:
        entries = [[entry] if isinstance(entry, str) else list(entry) for entry in self.dimensions]
        columns = list(dict.fromkeys(name for entry in entries for name in entry))
        rows = frame_table(original, columns, self.weight_col)
        targets = [series_target(target, entry, rows) for target, entry in zip(self.aggregates, entries, strict=True)]
        fitted = original.copy()
        fitted[self.weight_col] = rows.rescale(self._project(rows.table, targets))  # any hashable may be its name
        return fitted

    def _project(self, reference: Table, targets: list[Marginal]) -> Table:
        # ipfn judges relative misses of each target, `project` misses as shares of the total
        smallest = min(float(target.coded.values.min()) / target.total for target in targets)
        tolerance = max(min(_TOLERANCE, self.conv_rate * smallest), _LEAST_TOLERANCE)
        try:
            self.projection = project(
                reference, targets, tolerance=tolerance, max_iterations=self.max_itr, on_failure="raise"
            )
        except NotConvergedError as error:
            if self.verbose == 0 or not isinstance(error.projection, Projection):
                raise
            self.projection = error.projection
        return self.projection.table

    @staticmethod
    def _misses(projection: Projection) -> pd.DataFrame:
        trace = projection.trace
        made = trace["iteration"].values
        # row 0 is the table before any iteration
        misses = pd.DataFrame({"iteration": made, "conv": trace["residual"].values})
        misses = misses[made > 0]
        return misses.assign(iteration=misses["iteration"] - 1).set_index("iteration")  # ipfn counts from 0
