"""The rate of iterative proportional fitting from its sweep linearised at a table, and what sets it, in labels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Constraints, as_constraints
from purtensor.constraints.system import System
from purtensor.convergence.prediction import Prediction, WeakLink
from purtensor.errors import InvalidOptionError, InvalidTableError
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.projection.solved import arrays_of, in_its_engine
from purtensor.solving.convergence.friedrichs import Cut, PairSpectrum, pair_spectrum, weakest_cut
from purtensor.solving.convergence.grouped_sweep import GroupedSweep, leading_eigenvalue
from purtensor.solving.convergence.krylov import decay_of, leading_by_sweeps
from purtensor.solving.convergence.rates import gap_by_trace, gap_of_three
from purtensor.solving.problem import LabelledProblem, Problem, build_problem
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.coded import domain_of, encode
from purtensor.tables.translate import values_at

# bounds on a gap are widened by exp(2 * 10), and say nothing any more
_FARTHEST = 10.0
"""Beyond such a bound on |log(q / p)| nothing is said of the solution."""

_NOTHING = 1e-6
"""A sweep that leaves no more than this of an error leaves nothing but the rounding of a closed form."""


@in_its_engine
def predict(reference: Table, constraints: Constraints, *, at: str | Table | Projection = "reference") -> Prediction:
    """Predict the convergence rate of iterative proportional fitting before it is run, and explain it.

    The sweep is linearised at a table (notes/rates.md), and its leading eigenvalue is computed by inverse iteration
    (notes/block_ipf.md, equation 3). At the reference no solve is needed, and the result is within about 20 % of the
    rate at the solution on regularised data; the bounds are those of notes/rate_bounds.md. If Newton's equations are
    too large to be factorised, Arnoldi's method with a few sweeps is used instead; `notes` lists what was not
    computed.

    Parameters
    ----------
    reference, constraints
        As in `project`.
    at
        Where to linearise: "reference", "solution" (solved by Newton's method), a projection, or a table that is
        positive where the reference is.

    Raises
    ------
    InvalidOptionError
        An invalid `at`.
    InvalidTableError
        A table `at` without mass on a profile of the support, and whatever `project` raises for its tables.
    InfeasibleError
        `at` is "solution", and the problem has none.

    Examples
    --------
    >>> import purtensor as pt
    >>> problem = pt.problems.load("b")
    >>> found = pt.convergence.predict(problem.reference, problem.constraints, at="solution")
    >>> 5700 < found.sweeps_per_decade < 5850, found.lower <= found.sweeps_per_decade <= found.upper
    (True, True)
    >>> 1.9 < found.merged < 2.1, found.weakest.profiles
    (True, 6)
    """
    labelled, masses, result = _linearise_at(reference, constraints, at)
    problem, found = labelled.arrays, _Found()
    if result is not None:
        bound = result.log_ratio_bound
        # distance of the table from the exact solution, by which the bounds are widened
        found.distance = bound if bound < _FARTHEST else math.inf
    pair = _closest(problem, masses, found.notes)
    _look_at_sweep(found, problem, masses, pair)
    weakest = None
    if pair is not None:
        found.slab = _sweeps_of_gap(pair.gap)
        cut = weakest_cut(problem, masses, pair)
        weakest = None if cut is None else _label_cut(labelled, cut, pair, float(masses.sum()))
    # the closest pair bounds nothing, but an eigenvalue that has not settled may be far too small
    if not found.settled and pair is not None:
        found.rate = max(found.rate, found.slab)
    return Prediction(
        sweeps_per_decade=found.rate,
        # fmax passes over NaN, which stands for what was not computed
        estimate=float(np.fmax(found.slab, found.merged)),
        slab=found.slab,
        merged=found.merged,
        lower=found.lower,
        upper=found.upper,
        proved=math.isfinite(found.distance) and (found.lower > 0.0 or found.upper < math.inf),
        pair=None if pair is None else (problem.system.scopes[pair.first], problem.system.scopes[pair.second]),
        weakest=weakest,
        notes=tuple(found.notes),
    )


@dataclass(slots=True)
class _Found:
    """What has been found of a sweep so far, in sweeps per decade."""

    rate: float = math.nan
    settled: bool = True
    slab: float = math.nan
    merged: float = math.nan
    lower: float = 0.0
    upper: float = math.inf
    distance: float = math.inf
    notes: list[str] = field(default_factory=list)

    @property
    def known_distance(self) -> float:
        """The proved largest |log(q / p)| from the solution q; 0 where none is, and bounds are those of the table."""
        return self.distance if math.isfinite(self.distance) else 0.0


def _look_at_sweep(found: _Found, problem: Problem, masses: FloatArray, pair: PairSpectrum | None) -> None:
    """Write the rate and its bounds: of two constraints from their cosine, of more by the inverse, or by sweeps."""
    away = math.exp(2.0 * found.known_distance)  # by so much gaps at the solution may differ (notes/rate_bounds.md)
    # for two constraints the rate is their squared cosine, 1 - gap, and there is nothing to iterate
    if len(problem.index) == 2 and pair is not None:
        found.rate = _sweeps_of_gap(pair.gap)
        found.lower, found.upper = _sweeps_of_gap(pair.gap * away), _sweeps_of_gap(pair.gap / away)
        found.merged = 0.0
        return
    sweep = GroupedSweep.at(problem, masses)
    if sweep is None:
        by_sweeps = leading_by_sweeps(problem, masses, range(len(problem.index)))
        found.rate, found.settled = _sweeps(decay_of(by_sweeps.gap)), by_sweeps.settled
        end = "" if by_sweeps.settled else ", and had not settled"
        found.notes.append(
            f"Newton's equations are too large to be factorised: the rate comes from {by_sweeps.steps} sweeps{end}; "
            "bounds, and the rate with the two as one block, are not computed"
        )
        return
    lead = leading_eigenvalue(sweep)
    found.rate, found.settled = _sweeps(decay_of(lead.gap)), lead.settled
    if not lead.settled:
        found.notes.append("The leading eigenvalue has not converged: the rate is an estimate")
    # the trace bounds 1 / (1 - rho) from below (notes/rate_bounds.md, equation 4)
    gap = gap_by_trace(problem, masses, len(sweep.independent), found.known_distance)
    found.lower = 0.0 if gap is None else _sweeps_of_gap(gap)
    if pair is None:
        return
    grouped = GroupedSweep.at(problem, masses, _blocks_with_pair_merged(len(problem.index), pair))
    if grouped is None:
        return
    merged = leading_eigenvalue(grouped).gap
    found.merged = _sweeps(decay_of(merged))
    # the bound of two against one is proved for three constraints only (notes/rate_bounds.md, equation 1)
    if len(problem.index) == 3:
        found.upper = _sweeps_of_gap(gap_of_three(merged.real / away, pair.gap / away))


def _linearise_at(
    reference: Table, constraints: Constraints, at: object
) -> tuple[LabelledProblem, FloatArray, Projection | None]:
    if isinstance(at, str) and at == "solution":
        at = project(reference, constraints, solver=Newton(), tolerance=1e-12, certificate=False)
    if isinstance(at, Projection):
        return (*arrays_of(at), at)
    if not (isinstance(at, Table) or (isinstance(at, str) and at == "reference")):
        raise InvalidOptionError(f"at must be 'reference', 'solution', a projection or a table, got {at!r}")
    labelled = build_problem(reference, as_constraints(constraints))
    if isinstance(at, str):
        return labelled, labelled.arrays.reference, None
    coded = encode(reference)
    values = values_at(at.transpose(*_dims(at)), coded.domain, coded.codes)[labelled.profiles]
    if not (values > 0).all():
        raise InvalidTableError(
            "at must have mass wherever the reference has mass, got a table without some of its profiles"
        )
    return labelled, values / values.sum(), None


def _dims(table: Table) -> tuple[object, ...]:
    domain_of(table)  # refuses what is not a table
    return table.dims


def _closest(problem: Problem, masses: FloatArray, notes: list[str]) -> PairSpectrum | None:
    """Return the pair of constraints with the smallest gap, of those that are not too large to be examined."""
    pairs = list(itertools.combinations(range(len(problem.index)), 2))
    spectra = [pair_spectrum(problem, masses, *pair) for pair in pairs]
    found = [spectrum for spectrum in spectra if spectrum is not None]
    if len(found) < len(pairs):
        left = len(pairs) - len(found)
        notes.append(
            f"The closeness of constraints was not computed for {left} of {len(pairs)} pairs, which are too large"
        )
    # the smallest gap is the slowest pair
    return min(found, key=lambda spectrum: spectrum.gap, default=None)


def _blocks_with_pair_merged(count: int, pair: PairSpectrum) -> list[tuple[int, ...]]:
    # of three constraints any order has the same rate (notes/rates.md, equation 6)
    return [*((k,) for k in range(count) if k not in (pair.first, pair.second)), (pair.first, pair.second)]


def _sweeps(decay: float) -> float:
    """Return the sweeps per decade of an error whose logarithm falls by so much a sweep."""
    # (notes/rates.md, equation 3)
    return math.log(10.0) / decay if 0.0 < decay < -math.log(_NOTHING) else 0.0 if decay > 0.0 else math.inf


def _sweeps_of_gap(gap: float) -> float:
    """Return the sweeps per decade of an error that each sweep multiplies by 1 - gap."""
    # log1p keeps the digits of gaps far below 1e-16, where 1 - gap is 1
    return _sweeps(-math.log1p(-gap)) if gap < 1.0 else 0.0


def _label_cut(labelled: LabelledProblem, cut: Cut, pair: PairSpectrum, total: float) -> WeakLink:
    system = labelled.arrays.system
    shared = [name for name in system.scopes[pair.first] if name in system.scopes[pair.second]]
    parts = [(pair.first, cut.rows_first, cut.side_first), (pair.second, cut.rows_second, cut.side_second)]
    # rows that share a slab have these categories in common: naming them once is enough
    pieces = [
        tuple(_row_text(system, k, int(row), shared) for k, rows, side in parts for row in rows[side == which])
        for which in (True, False)
    ]
    # any row of the slab will do, as all of them agree on the shared attributes
    where = _categories(system, pair.first, int(cut.rows_first[0]))
    return WeakLink(
        {name: where[name] for name in shared},
        pieces[0],
        pieces[1],
        (cut.masses[0] / total, cut.masses[1] / total),
        cut.joined / total,
        cut.profiles,
        cut.sweeps_per_decade,
    )


def _categories(system: System, k: int, row: int) -> dict[str, object]:
    """Return the categories of a row, numbered within its constraint."""
    domain = system.domain.select(system.scopes[k])
    return {
        name: categories[codes[row]]
        for name, categories, codes in zip(system.scopes[k], domain.categories, system.row_codes[k], strict=True)
    }


def _row_text(system: System, k: int, row: int, without: Sequence[str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in _categories(system, k, row).items() if name not in without)
