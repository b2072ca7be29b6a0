"""References given by their logarithms, such as -cost / epsilon in optimal transport: masses may be beyond float64."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.solving.problem import Emptied, LabelledProblem, build_problem
from purtensor.solving.solvers.ipf.log_domain_sweeps import SMALL
from purtensor.tables.coded import domain_of, profile_refusal, relaid

if TYPE_CHECKING:
    from purtensor.projection.result import Projection

IN_MASS, IN_LOG = "mass", "log"
"""What `reference_in` may be."""

_MOST_LOST = 700.0
"""Profiles that targets of 0 empty may have exp of this times the mass of all others."""


def support_of_logarithms(logarithms: Table) -> Table:
    """Return a table of ones where logarithms are finite, and of zeros where they are -inf.

    Raises
    ------
    InvalidTableError
        Values that are not numbers, NaN, or inf; the message names the profile.
    """
    domain = domain_of(logarithms)
    values = np.asarray(logarithms.values)
    if values.dtype.kind not in "iuf":
        raise InvalidTableError(f"logarithms of masses must be integers or floats, got {values.dtype}")
    flat = values.reshape(-1)
    wrong = np.flatnonzero(np.isnan(flat) | np.isposinf(flat))
    if len(wrong):
        profile_refusal(logarithms)(
            int(wrong[0]), f"has the logarithm {flat[wrong[0]]}: a mass is finite, and -inf says that it is 0"
        )
    if not np.isfinite(flat).any():
        raise InvalidTableError(
            f"the table of logarithms over {', '.join(domain.attributes)} is empty: no profile has a finite one"
        )
    return relaid(logarithms, np.isfinite(flat).astype(np.float64), name=logarithms.name)


def with_logarithms(labelled: LabelledProblem, logarithms: Table) -> LabelledProblem:
    """Return a problem that was built on the support with the reference that the logarithms are, of total 1.

    Where float64 holds all masses, the problem is one like any other; else it keeps the logarithms.

    Raises
    ------
    InvalidTableError
        Targets of 0 take away more than exp(700) times the mass that they leave.
    """
    flat = np.asarray(logarithms.values, dtype=np.float64).reshape(-1)
    every = flat if labelled.positions is None else flat[labelled.positions]
    logs, whole = every[labelled.profiles], log_total(every)
    scale = log_total(logs)
    # exp(709) is the end of float64, and the shares below are computed as exp(whole - scale)
    if whole - scale > _MOST_LOST:
        raise InvalidTableError(
            f"targets of 0 empty profiles with exp({whole - scale:.0f}) times the mass of all others: give these -inf"
        )
    emptied = labelled.arrays.emptied
    if emptied is not None:
        gone = np.ones(len(every), dtype=bool)
        gone[labelled.profiles] = False
        # in the units of the masses that are left, whose total is 1
        emptied = Emptied(np.exp(every[gone] - scale), emptied.rows)
    shifted = logs - scale
    masses = np.exp(shifted)
    arrays = replace(
        labelled.arrays,
        reference=masses,
        emptied=emptied,
        # logarithms are kept only where masses lose digits: computing with them is slower
        log_reference=shifted if masses.min() < SMALL else None,
        # shifting rounds a logarithm, and so does adding potentials to it; exp rounds the mass
        log_rounding=2.0 * np.abs(shifted) + 2.0,
    )
    return replace(
        labelled,
        arrays=arrays,
        reference_total=float(np.exp(whole - scale)),
        reference_exponent=0,
        log_scale=scale,
    )


def log_total(logarithms: FloatArray) -> float:
    """Return the logarithm of the sum of masses that are given by theirs."""
    # subtracted, so that no exp overflows and the largest term is 1
    largest = float(logarithms.max())
    return largest + float(np.log(np.exp(logarithms - largest).sum()))


def support_of(result: Projection[Any]) -> Table:
    """Return a table that has mass where the reference of a projection has."""
    reference: Table = result.reference
    return support_of_logarithms(reference) if result.reference_in == IN_LOG else reference


def problem_of(result: Projection[Any], reference: Table) -> LabelledProblem:
    """Return the problem of a projection from its reference, or from one that differs in its support."""
    if result.reference_in == IN_MASS:
        return build_problem(reference, result.constraints)
    return with_logarithms(build_problem(support_of_logarithms(reference), result.constraints), reference)


def require_masses(result: Projection[Any], what: str) -> None:
    """Refuse what is computed from the masses of a reference that is given by its logarithms."""
    if result.reference_in != IN_MASS:
        raise InvalidOptionError(
            f"{what} reads the masses of the reference, and this one is given by its logarithms; where float64 holds "
            "them, project numpy.exp of it"
        )
