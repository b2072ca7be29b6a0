"""The same question asked from near its answer."""

from __future__ import annotations

from dataclasses import replace

from purtensor._options import is_number
from purtensor.constraints.marginals import Marginal
from purtensor.errors import InvalidOptionError
from purtensor.problems.named import NamedProblem
from purtensor.problems.registry import load
from purtensor.projection.project import project
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.layouts import to_dense
from purtensor.tables.marginal import marginal


def warm(problem: str | NamedProblem, *, change: float = 0.01) -> NamedProblem:
    """Return a problem whose reference is the answer for targets that are a little different: a warm start.

    That answer is the reference times factors of the constraints' rows, so both problems have one answer; and as it is
    a problem, solvers that know nothing of starting points begin there as well.

    Parameters
    ----------
    problem
        A name, or a problem.
    change
        The share of the reference's own marginals in the targets that are a little different.

    Raises
    ------
    InvalidOptionError
        A change outside of (0, 1].
    InfeasibleError
        There is no answer.

    Examples
    --------
    >>> import purtensor as pt
    >>> compared = pt.compare(["b_lam0", pt.problems.warm("b_lam0")], "ipf", repetitions=1)
    >>> cold, warm = compared.runs["iterations"]
    >>> warm < cold
    True
    """
    if not (is_number(change) and 0.0 < change <= 1.0):
        raise InvalidOptionError(f"change must be a share in (0, 1], got {change!r}")
    cold = load(problem) if isinstance(problem, str) else problem
    reference = cold.reference
    near = []
    for one in cold.constraints:
        own = to_dense(marginal(reference, one.scope)).reindex_like(one.target, fill_value=0.0)
        near.append(Marginal((1.0 - change) * one.target + change * float(one.target.sum() / own.sum()) * own))
    found = project(reference, near, solver=Newton(), tolerance=1e-13, certificate=False)
    return replace(cold, name=f"{cold.name}, warm", masses=found.table.values.reshape(cold.masses.shape).copy())
