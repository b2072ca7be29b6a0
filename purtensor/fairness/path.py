"""From the data to maximum entropy: what the pseudo-count in the reference does to the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable

import xarray as xr

from purtensor._typing import Attributes, Table
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.fairness.disparity import parity_violation
from purtensor.fairness.grid import check_steps, dataset_along, pairs_of, roles_beside, solve_steps
from purtensor.fairness.pur import pur
from purtensor.information import entropy, kl_divergence
from purtensor.projection.deliver import interrupting
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.tables.regularize import regularize, uniform

_MEANINGS = {
    "washed_out_share": "strength * profiles / N: pseudo-counts over counts in the reference",
    "divergence": "nats: D(q || reference of this strength)",
    "kl_to_data": "nats: D(q || f), f regularized by the default strength",
    "entropy": "nats: H[q]",
    "parity_violation": "sum of |q(y, s) - q(y) q(s)|",
    "residual": "largest miss over all constrained profiles, total mass 1",
    "tv_bound": "proved distance in total variation from the exact projection",
    "iterations": "of the solver",
}


def strength_path(
    counts: Table,
    strengths: Iterable[float],
    *,
    response: str,
    protected: Attributes,
    conditions: str = "PUR",
    targets: Constraints | None = None,
) -> xr.Dataset:
    """Return a description of the projections of counts, regularized by several strengths, onto the same targets.

    Only the reference depends on the strength. As the strength tends to 0 the reference becomes the observed
    distribution; as it grows, the uniform one. The end of the path, strength inf, is therefore the distribution of
    maximum entropy that meets the targets (MaxEnt-PUR). After Ctrl-C the completed strengths are returned; the largest
    are computed first.

    Parameters
    ----------
    counts
        A table of counts, as in `regularize`.
    strengths
        Pseudo-counts lambda, positive, in any order; inf is the uniform reference on the same profiles. (At 0 the
        unobserved profiles would leave the support; use a small number for the limit.)
    response
        The name of one attribute.
    protected
        The names of one or more others.
    conditions
        Letters of P, U and R, as in `pur`.
    targets
        Constraints to use for all strengths instead of the conditions of the counts regularized by the default
        strength.

    Returns
    -------
    xarray.Dataset
        Over `strength`, in the given order: `washed_out_share`, strength * profiles / N; `divergence` from the
        reference of that strength; `kl_to_data`, from f = `regularize(counts, response=...)`; `entropy`;
        `parity_violation`; `residual`, `tv_bound` and `iterations` of the projection; and `disparity_ratio`, p(y | s)
        / p(y | s0), over the response and the protected attributes, with s0 the largest group. After Ctrl-C the
        attribute `interrupted` says which strengths are missing.

    Raises
    ------
    UnknownAttributeError, UnknownCategoryError, InvalidTableError, InconsistentTargetsError
        As `regularize`, `pur` and `project`.
    InvalidOptionError
        A strength that is not positive, no strength, or incompatible attributes.
    InfeasibleError, NotConvergedError
        As `project`: the targets cannot be met, or were not met.
    KeyboardInterrupt
        After Ctrl-C, if no strength was completed.

    Examples
    --------
    >>> import math
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"hired": ["no", "no", "yes", "yes", "yes", "no"], "sex": ["f", "m"] * 3,
    ...                       "team": ["a", "a", "a", "b", "b", "b"]}, weights=[4, 2, 1, 3, 2, 3])
    >>> path = pt.strength_path(counts, [1e-4, 1, math.inf], response="hired", protected="sex")
    >>> path.washed_out_share.values.round(6).tolist()
    [5.3e-05, 0.533333, inf]
    >>> path.kl_to_data.values.round(6).tolist()
    [0.079856, 0.080167, 0.082201]
    """
    asked = check_steps(
        "strengths",
        strengths,
        lambda steps: steps > 0,
        "positive pseudo-counts, or inf for the uniform reference (for the limit at 0 a small one, such as 1e-9)",
    )
    f = regularize(counts, response=response)
    roles = roles_beside(f, response, protected, ("strength", *_MEANINGS))
    constraints = (
        pur(f, response=response, protected=protected, conditions=conditions)
        if targets is None
        else as_constraints(targets)
    )
    last: Projection | None = None

    def solve(strength: float) -> tuple[dict[str, float], Table]:
        nonlocal last
        reference = uniform(f) if math.isinf(strength) else regularize(counts, strength, response=response)
        with interrupting():
            # large pseudo-counts converge fast, and as the targets stay, their factors are good starts for smaller ones
            last = project(reference, constraints, start=last)
        numbers = {
            "washed_out_share": strength * (f.attrs["profiles"] / f.attrs["total"]),
            "divergence": last.divergence,
            "kl_to_data": kl_divergence(last.table, f),
            "entropy": entropy(last.table),
            "parity_violation": parity_violation(last.table, response=roles.response, protected=roles.protected),
            "residual": last.residual,
            "tv_bound": last.tv_bound,
            "iterations": last.iterations,
        }
        return numbers, pairs_of(last.table, roles)

    done, found, cut = solve_steps(asked, solve)
    columns = {name: ([numbers[name] for numbers, _ in found], text) for name, text in _MEANINGS.items()}
    result = dataset_along("strength", done, columns, [pairs for _, pairs in found], f, roles)
    result["strength"].attrs["long_name"] = "pseudo-count of each supported profile in the reference"
    return result.assign_attrs(cut)
