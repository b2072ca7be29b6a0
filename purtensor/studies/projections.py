"""The projections of a study, and the standard errors of disparities in them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import purtensor as pt
from purtensor._typing import Table
from purtensor.projection.deliver import interrupting

# the name of the regularized distribution of the data
DATA = "f"

MAX_ENT = "MaxEnt"
# for each projection the conditions that hold and the reference that it stays close to
QUESTIONS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"P": ("P", DATA), "PU": ("PU", DATA), "PUR": ("PUR", DATA), MAX_ENT: ("PUR", "uniform")}
)


def project_question(
    f: Table, name: str, *, response: str, protected: tuple[str, ...], **options: Any
) -> pt.Projection[Table]:
    """Return one of the projections of f in `QUESTIONS`; options are those of `project`."""
    conditions, reference = QUESTIONS[name]
    constraints = pt.pur(f, response=response, protected=protected, conditions=conditions)
    with interrupting():
        return pt.project(f if reference == DATA else pt.uniform(f), constraints, **options)


def errors_of(
    f: Table, projections: Mapping[str, pt.Projection], *, size: int, response: str, protected: tuple[str, ...]
) -> dict[str, pt.results.StandardErrors]:
    """Return the delta method's standard errors of f and of its projections, by name.

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
    >>> found = errors_of(f, {}, size=100, response="y", protected=("s",))
    >>> error = found["f"].attributable_disparity(response="y", protected="s", reference={"s": 0})
    >>> round(float(error.sel(y=1, s=1).item()), 6)  # sqrt(1/4 * 3/4 / 40 + 1/3 * 2/3 / 60)
    0.091604
    """
    # f is the projection of itself onto any of its marginals, and follows the data as they are
    with interrupting():
        itself = pt.project(f, pt.realism(f, response=response, protected=protected), certificate=False)
    found = {DATA: pt.standard_errors(itself, size=size)}
    return found | {name: pt.standard_errors(q, size=size, data=f) for name, q in projections.items()}
