"""A second opinion on a projection, by code that the solvers do not share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from purtensor._printing import Shown
from purtensor._typing import BoolArray
from purtensor.verification.bounds import prove
from purtensor.verification.evidence import Claims, Evidence, LongArray, gather, measure_membership, spacing_of
from purtensor.verification.exact import Figures, enclose
from purtensor.verification.implied_zeros import Emptied, find_emptied
from purtensor.verification.mixed import measure_mixed

_SLACK = 1e-14
"""Rounding of sums in float64 that a claimed residual or distance may contain, total mass 1."""

_RELATIVE = 1e-10
"""By so much of itself may a divergence differ from one that was summed in another order."""

_FACTOR = 1.01
"""Two least-norm solves agree to far better than a percent wherever they prove anything."""


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Shown):
    """What a result amounts to, recomputed from its labelled tables alone.

    Attributes
    ----------
    residual, residual_l1
        The largest miss of a target, and the sum of misses in the worst constraint, total mass 1.
    membership
        The largest |p / (reference * exp(C^T potentials)) - 1|, in extended precision: how far rounding has moved
        the table off its exponential family. What float64 has no digits for, below 2^-1022 of the total, is left out.
    divergence
        D(table || reference), both divided by their totals, in nats and in extended precision.
    bound, tv_bound
        The exact projection q has D(q || table) <= bound nats and lies within tv_bound of it in total variation; inf
        and 1 where nothing could be proved.
    support
        Whether the table is empty exactly where it must be: off the reference, on zero targets, and on zeros that
        the constraints imply.
    exact
        Whether every number was enclosed in rational arithmetic and rounded outward.
    failures
        Each claim of the result that was not confirmed, as a sentence.
    log_ratio_bound
        |log(q / table)| is no larger on any profile with mass: proved of up to 400 profiles near convergence, else inf.
    """

    residual: float
    residual_l1: float
    membership: float
    divergence: float
    bound: float
    tv_bound: float
    support: bool
    exact: bool
    failures: tuple[str, ...]
    log_ratio_bound: float = float("inf")

    @property
    def passed(self) -> bool:
        """Whether the result says that it converged, and everything that it claims is confirmed."""
        return not self.failures

    def summary(self) -> dict[str, str]:
        """Return what was found as text, one line each."""
        proved = [f"D <= {self.bound:.2e} nats"] if math.isfinite(self.bound) else []
        proved += [f"TV <= {self.tv_bound:.2e}"] if self.tv_bound < 1.0 else []
        proved += [f"|log ratios| <= {self.log_ratio_bound:.2e}"] if math.isfinite(self.log_ratio_bound) else []
        return {
            "passed": "yes" if self.passed else "no",
            "not confirmed": "; ".join(self.failures),
            "residual": f"{self.residual:.2e} (largest), {self.residual_l1:.2e} (L1)",
            "off its family": f"{self.membership:.2e} (largest relative deviation)",
            "divergence": f"{self.divergence:.9g} nats",
            "proved": ", ".join(proved) or "nothing",
            "support": "as required" if self.support else "not as required",
            "arithmetic": "rational, rounded outward" if self.exact else "extended precision",
        }


def verify_tables(result: Claims, *, exact: bool = False) -> Verification:
    """Return a recomputation of what a projection in memory claims, from its labelled tables alone."""
    evidence = gather(result)
    # read from labelled tables alone, so that a fault of the solver's arrays cannot hide
    members = _family(evidence)
    underflowed = _underflows(evidence, members)
    lost = find_emptied(evidence, underflowed)
    support, failures = _check_support(evidence, lost, underflowed)
    found = enclose(evidence, lost) if exact else _measure(evidence, members, lost)
    divergence = _divergence(evidence)
    failures += find_unconfirmed(result, evidence.largest_potential, found, divergence)
    return Verification(
        residual=found.residual,
        residual_l1=found.residual_l1,
        membership=found.membership,
        divergence=divergence,
        bound=found.bound,
        tv_bound=found.tv_bound,
        support=support,
        exact=exact,
        failures=tuple(failures),
        log_ratio_bound=found.log_ratio_bound,
    )


def verify_rows(result: Any) -> Verification:
    """Return the recomputation of a projection with rows of any kind, bounds or another distance."""
    found = measure_mixed(result.evidence.statement)
    failures = [] if result.converged else [f"the ending of the result is: {result.termination.value}"]
    # what rounding of the potentials can do to a claim is no fault of it
    slack = _SLACK + found.blur
    if found.outside > 0:
        failures.append(f"the table is outside of its bounds by {found.outside:.3g} of the total")
    if not found.residual <= result.residual * _FACTOR + slack:
        failures.append(f"residual is {found.residual:.3g}, but {result.residual:.3g} is claimed")
    # `not <=` fails at NaN, here and below
    if not abs(found.objective - result.objective) <= _RELATIVE * abs(found.objective) + slack:
        failures.append(f"objective is {found.objective:.12g} nats, but {result.objective:.12g} is claimed")
    if result.certified and not found.tv_bound <= result.tv_bound * _FACTOR + 4 * slack:
        failures.append(f"tv_bound is {found.tv_bound:.3g}, but {result.tv_bound:.3g} is claimed")
    return Verification(
        residual=found.residual,
        residual_l1=result.residual_l1,
        membership=found.blur,
        divergence=result.divergence,
        bound=found.bound,
        tv_bound=found.tv_bound,
        support=found.outside <= 0,
        exact=False,
        failures=tuple(failures),
    )


def _measure(evidence: Evidence, members: LongArray, lost: Emptied) -> Figures:
    """Return the figures in extended precision."""
    with np.errstate(all="ignore"):
        proof = prove(evidence, lost)
    on = evidence.masses > 0
    membership = measure_membership(evidence.masses[on], members[on], evidence.total) if on.any() else float("inf")
    distances = proof.bound, proof.tv_bound, proof.log_ratio_bound
    return Figures(*_residuals(evidence), membership, *distances, proof.keeps_named)


def _family(evidence: Evidence) -> LongArray:
    """Return reference * exp(C^T potentials) in extended precision."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return np.asarray(evidence.reference.astype(np.longdouble) * np.exp(evidence.exponents))


def _divergence(evidence: Evidence) -> float:
    """Return D(table || reference), each divided by its total; NaN where the table has no mass."""
    masses, reference = evidence.masses.astype(np.longdouble), evidence.reference.astype(np.longdouble)
    if evidence.logarithms is not None:
        logs = evidence.logarithms.astype(np.longdouble)
        reference = np.exp(logs - logs.max())  # extended precision holds exp(-11,000)
    on = masses > 0
    with np.errstate(all="ignore"):
        # each by its total: a free or rounded total is no part of a divergence
        p, q = masses[on] / masses.sum(), reference[on] / reference.sum()
        return max(0.0, float((p * np.log(p / q)).sum())) if on.any() else float("nan")


def _residuals(evidence: Evidence) -> tuple[float, float]:
    masses, total = evidence.masses.astype(np.longdouble), np.longdouble(evidence.total)
    misses = [np.abs(block.sums(masses) - block.targets.astype(np.longdouble)) / total for block in evidence.blocks]
    return max(float(miss.max()) for miss in misses), max(float(miss.sum()) for miss in misses)


def _check_support(evidence: Evidence, lost: Emptied, underflowed: BoolArray) -> tuple[bool, list[str]]:
    failures = []
    if evidence.stray:
        failures.append(f"the table has mass at ({evidence.stray}), where the reference has none")
    if np.any(evidence.masses[evidence.excluded] > 0):
        failures.append("the table has mass on a profile that a zero target excludes")
    unproved = int(np.count_nonzero(lost.open & ~underflowed))
    if unproved:
        failures.append(f"the table is empty on {unproved} profiles that are not proved to be implied zeros")
    return not failures, failures


def _underflows(evidence: Evidence, members: LongArray) -> BoolArray:
    """Return where a member of the family is positive but no positive float64."""
    return np.asarray(np.isfinite(evidence.exponents) & (members <= spacing_of(evidence.total)))


def find_unconfirmed(result: Claims, largest_potential: float, found: Figures, divergence: float) -> list[str]:
    """Return each claim of a result that the recomputed figures do not confirm, as a sentence."""
    failures = [] if result.converged else [f"the ending of the result is: {result.termination.value}"]
    for name in ("residual", "residual_l1"):
        own, claimed = getattr(found, name), getattr(result, name)
        if not own <= claimed * _FACTOR + _SLACK:
            failures.append(f"{name} is {own:.3g}, but {claimed:.3g} is claimed")
    # rounding of t itself moves the family by that order (notes/verification.md, equation 1)
    allowed = 1e-14 * (1 + largest_potential)
    if not found.membership <= allowed:
        failures.append(
            f"the table deviates from its exponential family by {found.membership:.3g}; rounding explains {allowed:.3g}"
        )
    allowed = _RELATIVE * divergence + 10 * allowed
    if not abs(result.divergence - divergence) <= allowed:
        failures.append(f"divergence is {divergence:.12g} nats, but {result.divergence:.12g} is claimed")
    if found.keeps_named is False:
        failures.append("the rows that are named as independent depend on each other, or do not imply all others")
    if result.certified:
        slack = _SLACK + found.membership  # as far as the table itself can be from its potentials
        if not found.tv_bound <= result.tv_bound * _FACTOR + slack:
            failures.append(f"tv_bound is {found.tv_bound:.3g}, but {result.tv_bound:.3g} is claimed")
        # as distances, by Pinsker's inequality, so that rounding has one scale
        if not np.sqrt(found.bound / 2) <= np.sqrt(result.bound / 2) * _FACTOR + slack:
            failures.append(f"bound is {found.bound:.3g} nats, but {result.bound:.3g} is claimed")
    return failures
