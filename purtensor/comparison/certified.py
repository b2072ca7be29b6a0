"""Time to a certified accuracy: of the table that comes back, not of its misses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from purtensor._options import check_choice
from purtensor.comparison.compare import compare
from purtensor.comparison.contenders import Solvers
from purtensor.comparison.questions import Problems


def time_to_certified(
    problems: Problems,
    solvers: Solvers,
    *,
    measure: str = "tv",
    levels: Sequence[float] = (1e-3, 1e-6, 1e-9),
    tolerances: Sequence[float] = (1e-4, 1e-6, 1e-8, 1e-10, 1e-12),
    **options: Any,
) -> pd.DataFrame:
    """Return how long each solver takes to a table that is proved to be within each level of the exact projection.

    Solvers stop by misses, and how near they are then depends on the problem: so each runs with several tolerances, and
    the fastest of the runs that were near enough counts.

    Parameters
    ----------
    problems, solvers, options
        As in `compare`.
    measure
        "tv" (total variation) or "log_ratio" (the largest |log(table / answer)| of a profile, which rare ones decide).
    levels
        Of the measure.
    tolerances
        Of the residual.

    Returns
    -------
    pandas.DataFrame
        Columns problem, solver, level, tolerance, seconds, cell_touches; NaN where no run was near enough.

    Examples
    --------
    >>> found = time_to_certified("a", ["ipf", "newton"], levels=[1e-6], repetitions=1)
    >>> found[["solver", "level"]].values.tolist(), bool(found["seconds"].notna().all())
    ([['ipf', 1e-06], ['newton', 1e-06]], True)
    """
    check_choice("measure", measure, ("tv", "log_ratio"))
    runs = pd.concat(
        compare(problems, solvers, tolerance=tolerance, **options).runs.assign(tolerance=tolerance)
        for tolerance in sorted(tolerances, reverse=True)
    )
    names = ["problem", "solver", "level", "tolerance", "seconds", "cell_touches"]
    rows = []
    for (problem, solver), own in runs.groupby(["problem", "solver"], sort=False):
        for level in levels:
            near = own[own[measure] <= level].nsmallest(1, "seconds")
            numbers = near[names[3:]].iloc[0].tolist() if len(near) else [np.nan] * 3
            rows.append((problem, solver, level, *numbers))
    return pd.DataFrame(rows, columns=names)
