"""Claims of the paper, judged by numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pandas as pd
from scipy import stats

from purtensor._typing import FloatArray

# a number is within noise when it is at most so many of its own standard errors away
NOISE_WIDTH = 2.0

# the chance of calling any of the pairs systematic where none is: each is judged at LEVEL / pairs (Bonferroni)
LEVEL = 0.05

# a rest of disparity matters from this share of the mean disparity of f on
SHARE_THAT_MATTERS = 0.1

# the largest miss of a marginal, total mass 1, that counts as none: the tolerance of the projections
EXACT = 1e-10


class Finding(Enum):
    """What numbers can say of a claim; the values are the words of the reports."""

    HOLDS = "holds"
    HOLDS_WITHIN = "holds to within {size}, with a systematic rest of {rest}"
    FAILS = "does not hold"
    UNTOLD = "cannot be decided with so few sets"
    UNTOLD_SPLIT = "cannot be decided from one test split"
    UNTOLD_YEARS = "cannot be decided from these years"

    @property
    def is_met(self) -> bool:
        """Whether it is that the claim holds, exactly or to within a tolerance."""
        return self in (Finding.HOLDS, Finding.HOLDS_WITHIN)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and what the numbers say of it.

    Attributes
    ----------
    statement
        The claim, in the paper's sense.
    finding
        Whether the numbers bear it out.
    evidence
        The numbers, with their noise.
    size, rest
        Of `HOLDS_WITHIN`: the tolerance that everything is proved to be within, and the largest systematic rest.
    """

    statement: str
    finding: Finding
    evidence: str
    size: float = 0.0
    rest: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the claim is borne out, exactly or to within its tolerance."""
        return self.finding.is_met

    @property
    def is_open(self) -> bool:
        """Whether the numbers do not decide the claim; the page of a report asks."""
        return self.finding in (Finding.UNTOLD, Finding.UNTOLD_SPLIT, Finding.UNTOLD_YEARS)

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return self.finding.value.format(size=f"{self.size:.2g}", rest=f"{self.rest:+.2g}")


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """Mean distances from parity with the errors of these means, by pair of response and group.

    Attributes
    ----------
    off, error
        Of the same shape: the mean over the sets, and its standard error.
    sets
        How many sets the errors are known from; 2 or more.
    pairs
        What each of them is about, in the order of `off` by rows.
    averaged
        Whether `off` is a mean over the sets, so that more of them lessen its error; else it is of one set alone.
    """

    off: FloatArray
    error: FloatArray
    sets: int
    pairs: Sequence[str] = ()
    averaged: bool = True

    @property
    def width(self) -> float:
        """How many standard errors count as chance: Student's quantile, corrected for the number of pairs."""
        return float(stats.t.isf(LEVEL / 2 / self.off.size, self.sets - 1))

    @property
    def widths(self) -> FloatArray:
        """How many standard errors each distance is; without any noise it is infinitely many."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatArray = np.where(self.off == 0, 0.0, np.abs(self.off) / self.error)
        return found

    def finding(self, tolerance: float) -> Finding:
        """Return whether these are parity, judged by significance and by size."""
        size, doubt = np.abs(self.off), self.width * self.error
        # beyond the tolerance even if all its doubt were in favour
        if (size - doubt > tolerance).any():
            return Finding.FAILS
        if not (size + doubt <= tolerance).all():  # NaN: a pair without a number
            return Finding.UNTOLD if self.averaged else Finding.UNTOLD_SPLIT
        return Finding.HOLDS_WITHIN if (self.widths > self.width).any() else Finding.HOLDS

    @property
    def rest(self) -> float:
        """The largest significant distance; 0 if there is none."""
        systematic = self.off[self.widths > self.width]
        return float(systematic[np.abs(systematic).argmax()]) if len(systematic) else 0.0

    @property
    def root_mean_square(self) -> float:
        """The root mean square of the distances in standard errors: near 1 where they are chance alone."""
        return float(np.sqrt(np.mean(self.widths**2)))

    def sets_to_tell(self, tolerance: float) -> int | None:
        """Return about how many sets are needed to decide whether all are within a tolerance; None if none suffice."""
        room = np.abs(tolerance - np.abs(self.off))
        if not (self.averaged and np.isfinite(self.error).all()) or (room == 0).any():
            return None
        # the doubt falls with the root of the number of sets, and must fit into the room
        return math.ceil(self.sets * max(1.0, float(((self.width * self.error) / room).max())) ** 2)

    def describe(self) -> str:
        """Return the most significant of them, and how many are significant."""
        at = int(np.argmax(self.widths))
        about = f"{self.pairs[at]}, " if self.pairs else ""
        beyond = int((self.widths > self.width).sum())
        return (
            f"most significant deviation: {about}{self.off.ravel()[at]:+.4f} from parity (standard error "
            f"{self.error.ravel()[at]:.4f}, z = {self.widths.ravel()[at]:.1f}); {beyond} of {self.off.size} "
            f"deviations are significant, with |z| > {self.width:.1f} (rms z {self.root_mean_square:.2f})"
        )


def claims_frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """Return claims as a frame, a row each: `statement`, `finding` (one of `Finding`), `verdict`, `evidence`.

    Examples
    --------
    >>> claims_frame([judge("P is met", "to 1e-12", is_borne_out=True)]).loc[0].to_list()
    ['P is met', 'HOLDS', 'holds', 'to 1e-12']
    """
    rows = [(claim.statement, claim.finding.name, claim.verdict, claim.evidence) for claim in claims]
    return pd.DataFrame(rows, columns=["statement", "finding", "verdict", "evidence"])


def tolerance_of(off_data: FloatArray) -> float:
    """Return the distance from parity that matters: a tenth of the mean distance of the data.

    Examples
    --------
    >>> tolerance_of(np.array([0.2, -0.1, 0.3]))
    0.02
    """
    # rounded, as 0.1 * 0.2 is not 0.02 in float64
    return round(SHARE_THAT_MATTERS * float(np.mean(np.abs(off_data))), 12)


def judge_removal(name: str, statement: str, means: Means, off_data: FloatArray) -> Claim:
    """Return the claim that a projection removes the disparity of the data, `off_data`."""
    tolerance = tolerance_of(off_data)
    evidence = (
        f"{name} leaves {100 * _share_left(means.off, off_data):.1f} % of the disparity of f; {means.describe()}; "
        f"tolerance {tolerance:.2g}, a tenth of the mean disparity of f{_more_sets(means, tolerance)}"
    )
    return Claim(statement, means.finding(tolerance), evidence, tolerance, means.rest)


def judge_lessening(name: str, statement: str, means: Means, off_data: FloatArray) -> Claim:
    """Return the claim that a projection lessens the disparity of the data but does not remove it."""
    share = _share_left(means.off, off_data)
    removed = means.finding(tolerance_of(off_data))
    finding = Finding.FAILS
    if share < 1.0 and not removed.is_met:
        finding = Finding.HOLDS if removed is Finding.FAILS else removed
    return Claim(statement, finding, f"{name} leaves {100 * share:.0f} % of the disparity of f; {means.describe()}")


def judge_average(name: str, means: Means, off_data: FloatArray) -> Claim:
    """Return the claim that data generated from a distribution have parity on average."""
    tolerance = tolerance_of(off_data)
    evidence = f"over {means.sets:,} data sets drawn from {name}, {means.describe()}{_more_sets(means, tolerance)}"
    statement = f"Data generated from {name} have parity on average"
    return Claim(statement, means.finding(tolerance), evidence, tolerance, means.rest)


def judge_classifiers(means: Mapping[str, Means], off_data: FloatArray) -> Iterator[Claim]:
    """Yield the claims on what natural classifiers of P, PU and PUR predict on test data, in this order."""
    statements = {
        "P": "P alone lessens disparity on test data but does not remove it",
        "PU": "P and U together lessen disparity on test data but do not remove it",
    }
    for name, statement in statements.items():
        yield judge_lessening(name, statement, means[name], off_data)
    yield judge_removal("PUR", "PUR removes disparity on test data up to sampling noise", means["PUR"], off_data)


def judge_utility(errors: FloatArray, errors_data: FloatArray) -> Claim:
    """Return the claim that PUR predicts (response, unprotected) about as well as f, by utility errors set by set."""
    difference = errors - errors_data
    spread = float(np.std(errors_data, ddof=1))
    mean, of_data = float(difference.mean()), float(errors_data.mean())
    error = float(np.std(difference, ddof=1)) / np.sqrt(len(difference))
    return judge(
        "The utility-based generalisation error of PUR is close to that of the data's own classifier",
        # one-sided: predicting better than f is no failure
        is_borne_out=bool(mean <= spread),
        evidence=f"mean {errors.mean():.3e} nats against {of_data:.3e} nats of f: {100 * mean / of_data:+.1f} %, a "
        f"difference of {mean:.1e} nats (standard error {error:.0e}); the error of f has a standard deviation of "
        f"{spread:.1e} over the sets",
    )


def judge_marginals(misses: FloatArray, projections: int) -> Claim:
    """Return the claim that projections have exactly the stated marginals, by the largest miss of each."""
    largest = float(np.max(misses))
    return judge(
        "The projections have exactly the marginals that were stated",
        is_borne_out=largest <= EXACT,
        evidence=f"largest residual of any marginal: {largest:.1e} of the total mass, in {projections:,} projections",
    )


def _more_sets(means: Means, tolerance: float) -> str:
    """Return how many sets would be needed to decide, if these do not."""
    needed = means.sets_to_tell(tolerance) if means.finding(tolerance) is Finding.UNTOLD else None
    return "" if needed is None else f"; about {needed:,} sets are needed to decide"


def _share_left(off: FloatArray, off_data: FloatArray) -> float:
    """Return the share of the data's disparity that is left."""
    return float(np.mean(np.abs(off)) / np.mean(np.abs(off_data)))


def judge(statement: str, evidence: str, *, is_borne_out: bool) -> Claim:
    """Return a claim that numbers without noise settle."""
    return Claim(statement, Finding.HOLDS if is_borne_out else Finding.FAILS, evidence)
