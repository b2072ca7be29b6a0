"""Claims of the paper, judged by numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from purtensor._typing import FloatArray

NOISE_WIDTH = 2.0
"""A disparity is within noise when it is at most so many of its own standard errors from parity."""

AVERAGE_WIDTH = 4.0
"""An average over many data sets is at parity when no pair is further off than so many standard errors.

Over few data sets the standard error is itself uncertain: Student's quantile of the same probability takes its place.
"""

EXACT = 1e-10
"""The largest miss of a marginal, total mass 1, that counts as none: the tolerance of the projections."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of the paper and what the numbers say of it.

    Attributes
    ----------
    statement
        The claim, in the paper's sense.
    holds
        Whether the numbers bear it out.
    evidence
        The numbers, with their noise.
    """

    statement: str
    holds: bool
    evidence: str

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return "holds" if self.holds else "does not hold"


def lessened_claim(
    name: str,
    statement: str,
    off: FloatArray,
    noise: FloatArray,
    off_data: FloatArray,
    *,
    pairs: Sequence[str] = (),
) -> Claim:
    """Return the claim that a projection lessens disparity on test data but does not remove it.

    Parameters
    ----------
    off, off_data
        How far from parity, by pair: of the projection and of the data.
    noise
        The standard error of `off`, of the same shape.
    pairs
        What each of them is about, in the order of `off` by rows: the evidence names it.
    """
    share, beyond = _left(off, off_data), _beyond(off, noise)
    evidence = f"{name} leaves {100 * share:.0f} % of the disparity of f; {_told(off, noise, pairs)}"
    return Claim(statement, holds=share < 1.0 and beyond > 0, evidence=evidence)


def removed_claim(
    name: str,
    statement: str,
    off: FloatArray,
    noise: FloatArray,
    off_data: FloatArray,
    *,
    pairs: Sequence[str] = (),
) -> Claim:
    """Return the claim that a projection removes disparity up to sampling noise; parameters as in `lessened_claim`."""
    share, beyond = _left(off, off_data), _beyond(off, noise)
    evidence = f"{name} leaves {100 * share:.1f} % of the disparity of f; {_told(off, noise, pairs)}"
    return Claim(statement, holds=beyond == 0, evidence=evidence)


def average_claim(
    name: str,
    statement: str,
    off: FloatArray,
    deviations: FloatArray,
    data_sets: int,
    *,
    pairs: Sequence[str] = (),
) -> Claim:
    """Return the claim that data generated from a distribution have parity on average.

    Parameters
    ----------
    off, deviations
        Mean distance from parity and standard deviation over the data sets, by pair.
    data_sets
        How many there are: the standard error of a mean is the deviation over its root.
    pairs
        As in `lessened_claim`.
    """
    error = deviations / np.sqrt(data_sets)
    width = float(stats.t.isf(stats.norm.sf(AVERAGE_WIDTH), data_sets - 1))
    return Claim(
        statement,
        holds=bool((_widths(off, error) <= width).all()),
        evidence=f"over {data_sets:,} data sets drawn from {name}, {_most(off, error, pairs)} "
        f"(at most {width:.1f} count as none for {off.size} means)",
    )


def utility_claim(errors: FloatArray, errors_data: FloatArray) -> Claim:
    """Return the claim that PUR predicts (response, unprotected) about as well as f, by utility errors set by set."""
    difference = errors - errors_data
    spread = float(np.std(errors_data, ddof=1))
    mean, of_data = float(difference.mean()), float(errors_data.mean())
    error = float(np.std(difference, ddof=1)) / np.sqrt(len(difference))
    return Claim(
        "The utility-based generalisation error of PUR is close to that of the data's own classifier",
        holds=bool(mean <= spread),
        evidence=f"mean {errors.mean():.3e} nats against {of_data:.3e} nats of f: {100 * mean / of_data:+.1f} %, a "
        f"difference of {mean:.1e} nats (standard error {error:.0e}); f fluctuates by {spread:.1e} from set to set",
    )


def marginals_claim(misses: FloatArray, projections: int) -> Claim:
    """Return the claim that projections have exactly the stated marginals, by the largest miss of each."""
    largest = float(np.max(misses))
    return Claim(
        "The projections have exactly the marginals that were stated",
        holds=largest <= EXACT,
        evidence=f"largest miss of any marginal {largest:.1e} of the total mass, over {projections:,} projections",
    )


def _left(off: FloatArray, off_data: FloatArray) -> float:
    """Return the share of the data's disparity that is left."""
    return float(np.mean(np.abs(off)) / np.mean(np.abs(off_data)))


def _beyond(off: FloatArray, noise: FloatArray) -> int:
    """Return how many pairs are further from parity than noise."""
    return int(np.count_nonzero(_widths(off, noise) > NOISE_WIDTH))


def _told(off: FloatArray, noise: FloatArray, pairs: Sequence[str]) -> str:
    return (
        f"{_most(off, noise, pairs)}; {_beyond(off, noise)} of {off.size} are further than {NOISE_WIDTH:g} standard "
        "errors from parity"
    )


def _widths(off: FloatArray, noise: FloatArray) -> FloatArray:
    """Return distances from parity in standard errors; without any noise a distance is infinitely many."""
    with np.errstate(divide="ignore", invalid="ignore"):
        widths: FloatArray = np.where(off == 0, 0.0, np.abs(off) / noise)
    return widths


def _most(off: FloatArray, noise: FloatArray, pairs: Sequence[str]) -> str:
    at = int(np.argmax(_widths(off, noise)))
    about = f"{pairs[at]}, " if pairs else ""
    return (
        f"clearest: {about}{off.ravel()[at]:+.4f} from parity with a standard error of {noise.ravel()[at]:.4f}, "
        f"{_widths(off, noise).ravel()[at]:.1f} of them"
    )
