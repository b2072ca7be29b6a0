"""From the data to maximum entropy: what the pseudo-count in the reference does to the answer."""

from __future__ import annotations

import math
from collections.abc import Iterable

import xarray as xr

from purtensor._typing import Attributes, FloatArray, Table
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.errors import InvalidOptionError
from purtensor.fairness.grids import steps_given
from purtensor.fairness.parity_violation import parity_violation
from purtensor.fairness.pur import pur
from purtensor.fairness.roles import Roles
from purtensor.fairness.side_by_side import dataset_along, pairs_of, roles_beside
from purtensor.information import entropy, kl_divergence
from purtensor.projection.interruption import interrupting, what_is_missing
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
    asked = _checked(strengths)
    f = regularize(counts, response=response)
    roles = roles_beside(f, response, protected, ("strength", *_MEANINGS))
    constraints = (
        pur(f, response=response, protected=protected, conditions=conditions)
        if targets is None
        else as_constraints(targets)
    )
    found: dict[float, tuple[dict[str, float], Table]] = {}
    # large pseudo-counts converge fast, and their answers are good starts for smaller ones
    order = sorted(set(asked.tolist()), reverse=True)
    cut: dict[str, str] = {}
    last: Projection | None = None
    try:
        for strength in order:
            reference = uniform(f) if math.isinf(strength) else regularize(counts, strength, response=response)
            with interrupting():
                # the targets stay, so that the last factors are a good start
                last = project(reference, constraints, start=last)
            found[strength] = _measured(last, f, strength, roles), pairs_of(last.table, roles)
    except KeyboardInterrupt:
        if not found:
            raise
        cut = what_is_missing(f"{strength:g}" for strength in order if strength not in found)
    done = [strength for strength in asked.tolist() if strength in found]
    described = {name: ([found[strength][0][name] for strength in done], told) for name, told in _MEANINGS.items()}
    result = dataset_along("strength", done, described, [found[strength][1] for strength in done], f, roles)
    result["strength"].attrs["long_name"] = "pseudo-count of each supported profile in the reference"
    return result.assign_attrs(cut)


def _measured(result: Projection, f: Table, strength: float, roles: Roles) -> dict[str, float]:
    """Return the numbers of one projection, by the names of their meanings."""
    return {
        "washed_out_share": strength * (f.attrs["profiles"] / f.attrs["total"]),
        "divergence": result.divergence,
        "kl_to_data": kl_divergence(result.table, f),
        "entropy": entropy(result.table),
        "parity_violation": parity_violation(result.table, response=roles.response, protected=list(roles.protected)),
        "residual": result.residual,
        "tv_bound": result.tv_bound,
        "iterations": result.iterations,
    }


def _checked(strengths: Iterable[float]) -> FloatArray:
    asked = steps_given("strengths", strengths)
    wrong = asked[~(asked > 0)]
    if len(wrong):
        raise InvalidOptionError(
            f"a strength must be a positive pseudo-count, or inf for the uniform reference, got {wrong[0]}; for the "
            "limit at 0 use a small one, such as 1e-9"
        )
    return asked
