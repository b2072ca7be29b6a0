"""Standard errors of disparities: what they would vary by if other people had been asked."""

from __future__ import annotations

from collections.abc import Mapping

from purtensor._typing import Table
from purtensor.fairness.pur import realism
from purtensor.inference.delta_method import StandardErrors, standard_errors
from purtensor.projection.interruption import interrupting
from purtensor.projection.project import project
from purtensor.projection.result import Projection


def errors_of(
    f: Table, projections: Mapping[str, Projection], *, size: int, response: str, protected: tuple[str, ...], data: str
) -> dict[str, StandardErrors]:
    """Return the delta method's standard errors of f, under the name `data`, and of its projections.

    Parameters
    ----------
    f
        The distribution that the targets of all projections come from.
    size
        How many people were asked.

    Examples
    --------
    >>> import purtensor as pt
    >>> f = pt.empirical(pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1]}, weights=[30, 10, 20, 40]))
    >>> found = errors_of(f, {}, size=100, response="y", protected=("s",), data="f")
    >>> error = found["f"].attributable_disparity(response="y", protected="s", reference={"s": 0})
    >>> round(float(error.sel(y=1, s=1).item()), 6)  # sqrt(1/4 * 3/4 / 40 + 1/3 * 2/3 / 60)
    0.091604
    """
    # f is the projection of itself onto any of its marginals, and follows the data as they are
    with interrupting():
        itself = project(f, realism(f, response=response, protected=protected), certificate=False)
    found = {data: standard_errors(itself, size=size)}
    return found | {name: standard_errors(q, size=size, data=f) for name, q in projections.items()}
