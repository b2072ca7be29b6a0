"""The projection without a solver, where a product of the targets is the answer."""

from __future__ import annotations

from purtensor._typing import Table
from purtensor.constraints.decomposable import compute_closed_form
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.projection.labels import table_of
from purtensor.solving.problem import build_problem


def closed_form(reference: Table, constraints: Constraints) -> Table | None:
    """Return the projection as a product of the targets over their shared marginals, or None where it is none.

    It is one where the scopes of the constraints are decomposable (they can be put in a line in which each meets those
    before it inside one of them) and the reference lies in their family, as the uniform one on a full domain does
    (notes/independence.md, equation 5).

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError, InfeasibleError
        As `project`.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"y": [0, 0, 1, 1], "s": [0, 1, 0, 1], "x": [0, 0, 0, 1]})
    >>> everywhere = pt.to_dense(counts, fill_value=1.0) * 0 + 1
    >>> chain = pt.marginals_of(counts, [("y", "s"), ("s", "x")])
    >>> pt.results.closed_form(everywhere, chain).sel(y=0, s=1, x=1).item()
    0.5
    >>> pt.results.closed_form(everywhere, pt.marginals_of(counts, [("y", "s"), ("s", "x"), ("y", "x")])) is None
    True
    """
    labelled = build_problem(reference, as_constraints(constraints))
    masses = compute_closed_form(labelled.arrays.reference, labelled.arrays.system)
    return None if masses is None else table_of(labelled, masses)
