"""The information projection, from labels to labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np

from purtensor._options import check_choice, check_flag
from purtensor._typing import FloatArray, Table
from purtensor.constraints.marginals import Marginal, as_constraints
from purtensor.errors import InfeasibleError, InvalidOptionError, NotConvergedError, NotConvergedWarning
from purtensor.feasibility.verdict import Verdict
from purtensor.kernels.engine import engine_for
from purtensor.projection.general import potentials_of, run_general
from purtensor.projection.labels import potentials_from
from purtensor.projection.lazy_verdict import Feasibility, explained
from purtensor.projection.options import check_telling, solver_of, stopping_of
from purtensor.projection.progress import progress_callback
from purtensor.projection.result import Projection, empty_projection, general_projection, make_projection
from purtensor.solving.certificate import Certificate, DualCertifier, certify
from purtensor.solving.convergence.trend import SweepsToGo
from purtensor.solving.dual.labelled import Bounds, GeneralOptions, build_question, general_constraints, is_plain
from purtensor.solving.dual.watch import StepLine
from purtensor.solving.iterate import Iterate, Solver, iterate_at, scaled_to_total
from purtensor.solving.loop import Progress, Run, Stage, State, begin, run, step_on_arrays
from purtensor.solving.problem import LabelledProblem, build_problem
from purtensor.solving.solve import interrupt, solve
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.newton import Newton
from purtensor.solving.spaces.arrays import ArraySpace
from purtensor.solving.stopping import Stopping
from purtensor.solving.termination import Termination
from purtensor.tables.coded import domain_of
from purtensor.tables.dispatch import engine_of
from purtensor.tables.store.open_store import StoredTable

_MOST_STEPS = 2000
"""Newton steps of a question with rows of any kind, where no limit is given."""

_WITHOUT_PROOF = "interrupted while a bound was being proved, after the solver had ended"

Answer = TypeVar("Answer", bound=Any)
"""A Projection, or one of a stored table."""


def project(
    reference: Table | StoredTable,
    constraints: Any,
    *,
    solver: Solver | None = None,
    tolerance: float = 1e-10,
    stop_on: str = "residual",
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    on_failure: str = "raise",
    certificate: bool = True,
    start: Projection | Sequence[Table] | None = None,
    progress: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    distance: str = "kl",
    total: str | float = "constrained",
    size: float | None = None,
    signed: bool = False,
) -> Projection:
    """Return the distribution that meets the constraints and is closest to the reference in KL divergence.

    Ctrl-C ends the call with the state so far, as the limits do: see `on_failure`. Nothing is proved of it then.

    Parameters
    ----------
    reference
        What to stay close to: a table of counts or probabilities; its positive profiles are the support. A stored
        table is projected slab by slab on whatever runs dask, and its answer is stored beside it. One of chunks of dask
        is stored first, in a folder `purtensor-...` where dask's option `temporary-directory` or the system has such;
        it holds the answer, too, and stays until you delete it.
    constraints
        A constraint, or any iterable of constraints, flattened one level: Marginals, whose targets share one total, or
        any others, such as Linear, total, mean, share, between(...) and soft(...).
    solver
        Any object with a `step`, such as `IPF()`; chosen when None.
    tolerance
        Met when the residual is within it, and the L1 miss of the worst constraint within 100 times it (total mass
        1), both judged on the returned table. With `stop_on="tv_bound"`: when the proved distance is within it.
    max_iterations, max_seconds
        Limits on the solver; 1,000,000 iterations and no limit in time when None. The time is looked at between its
        steps, of some 0.04 s; a single step of Newton's method may take longer, and so may a verdict.
    on_failure
        What happens when the constraints are not met: "raise", "warn" or "return".
    certificate
        Whether to prove a bound at the end; it costs about one Newton iteration.
    start
        An earlier projection, or its potentials, to begin from; the reference and the targets may have changed.
    progress
        Whether to show the residual on a terminal as it falls.
    callback
        Called with a Progress after every step; returning True ends the run.

    ratio_bounds, cell_bounds
        Pairs (lower, upper) of numbers, tables or None: bounds on table / reference, the reference scaled to the total
        of the table, and on the masses themselves. What a table of bounds does not list has none.
    distance
        What is minimised: "kl", "linear" (chi-squared, which allows negative masses unless bounds forbid them), or
        "logit", which keeps ratios strictly between their bounds.
    total
        "constrained" by a hard constraint, "reference", a number, or "free": then masses are compared as they are.
    size
        The size of the sample that the standard errors of soft constraints are of; the total when None.
    signed
        Whether the reference may have negative masses: they keep their signs (GRAS).

    Returns
    -------
    Projection
        The table with its evidence, in the layout of the reference; on disk where that is.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        Before any solve, naming what does not fit.
    InfeasibleError
        No distribution on the support meets the constraints.
    NotConvergedError
        Every other ending but "converged"; it carries the Projection so far.

    Examples
    --------
    >>> import purtensor as pt
    >>> counts = pt.tabulate({"hired": ["no", "yes", "yes", "no"], "sex": ["f", "f", "m", "m"]}, weights=[4, 1, 3, 2])
    >>> fair = pt.project(pt.empirical(counts), pt.parity(counts_f := pt.empirical(counts), response="hired",
    ...                   protected="sex"))
    >>> fair.converged, round(float(fair.table.sel(hired="yes", sex="f").item()), 3)
    (True, 0.2)
    """
    check_flag("certificate", certificate)
    check_telling(progress, callback)
    elsewhere = engine_of(reference, "project")
    options = GeneralOptions(ratio_bounds, cell_bounds, distance, total, size, signed)
    if elsewhere is not None:
        if not options.plain:
            raise InvalidOptionError(
                "tables on disk are projected onto marginals with targets only, without bounds, other distances or "
                "totals; where it fits in memory, give its to_table()"
            )
        found: Projection = elsewhere(
            reference,
            constraints,
            solver=solver,
            tolerance=tolerance,
            stop_on=stop_on,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
            on_failure=on_failure,
            certificate=bool(certificate),
            start=start,
            progress=bool(progress),
            callback=callback,
        )
        return found
    reference = cast(Table, reference)
    stopping = stopping_of(tolerance, stop_on, max_iterations, max_seconds)
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    chosen = solver_of(solver)
    given = general_constraints(constraints)
    if not is_plain(given, options):
        _require_newton(solver)
        labelled_question = build_question(reference, given, options)
        with progress_callback(progress, callback, stopping.residual) as told:
            run_found = run_general(
                labelled_question,
                tolerance=stopping.tolerance,
                stop_on=stop_on,
                max_iterations=_MOST_STEPS if max_iterations is None else stopping.max_iterations,
                max_seconds=stopping.max_seconds,
                certificate=bool(certificate),
                start=None if start is None else potentials_of(start, labelled_question.question),
                tell=None if told is None else _telling(told),
            )
        return delivered(
            general_projection(reference, run_found.labelled, run_found.answer, run_found.verdict), on_failure
        )
    flat = as_constraints(given)
    with engine_for(reference.size * len(flat)) as note:
        result = _project_on_marginals(
            reference, flat, chosen, stopping, on_failure, bool(certificate), start, (progress, callback), note
        )
    return delivered(result, on_failure, stopping.residual)


def _project_on_marginals(
    reference: Table,
    flat: tuple[Marginal, ...],
    chosen: Solver,
    stopping: Stopping,
    on_failure: str,
    certificate: bool,
    start: Projection | Sequence[Table] | None,
    telling: tuple[bool, Callable[[Progress], Any] | None],
    note: str,
) -> Projection:
    """Return the projection onto marginals with targets, whatever its ending; `note` is the first of its notes."""
    feasibility = Feasibility(reference, flat)
    try:
        labelled = build_problem(reference, flat)
    except InfeasibleError as error:
        if on_failure == "raise":
            raise InfeasibleError(str(error), feasibility.diagnosed()) from None
        return _without_support(reference, flat, feasibility, stopping)
    warm = None if start is None else _warm_start(labelled, start)
    with progress_callback(*telling, stopping.residual) as told:
        verdict = LabelledVerdict(feasibility, labelled, chosen)
        outcome = solve(_stage(labelled, chosen, warm), stopping, verdict, told)
        labelled = verdict.labelled
    proof = None
    if certificate and not outcome.hurried:
        try:
            proof = _proof(labelled, outcome)
        except KeyboardInterrupt:
            outcome = interrupt(outcome, _WITHOUT_PROOF)
    if note:
        outcome = replace(outcome, notes=[note, *outcome.notes])
    return make_projection(reference, labelled, outcome, proof, feasibility.diagnosis)


def _stage(labelled: LabelledProblem, solver: Solver, warm: FloatArray | None = None) -> Stage[Iterate]:
    """Return what the loop works on: it begins at the reference, or at the potentials of a warm start."""
    space = ArraySpace(labelled.arrays)
    point = space.start() if warm is None else iterate_at(labelled.arrays, warm)
    state = begin(space, point, at_reference=warm is None)
    return Stage(
        space, state, step_on_arrays(space, solver), lambda at: certify(space, iterate_at(space.problem, at.potentials))
    )


def _require_newton(solver: object) -> None:
    """Refuse solvers that know marginals with targets only."""
    if solver is not None and not isinstance(solver, Newton):
        raise InvalidOptionError(
            f"{solver!r} solves marginals with targets only; rows of other kinds, bounds, distances and totals take "
            "solver=Newton(), or None"
        )


def _telling(told: Callable[[Progress], Any]) -> Callable[[StepLine], bool]:
    """Return a callback of Progress as one of the dual's lines; there is no iterate of marginals to show."""
    nothing: Any = None
    return lambda line: told(Progress(line.iteration, line.seconds, line.residual, line.residual, nothing)) is True


@dataclass(slots=True)
class LabelledVerdict:
    """The verdict on a labelled problem, which becomes its face when the run goes on there."""

    feasibility: Feasibility
    labelled: LabelledProblem
    solver: Solver

    def is_hopeless(self) -> bool:
        """Tell whether it is proved that no positive solution exists."""
        return self.feasibility.is_hopeless()

    def is_refuted(self) -> bool:
        """Tell whether there is no solution at all."""
        return self.feasibility.diagnosed().verdict is not Verdict.BOUNDARY

    def face(self, state: State[Iterate]) -> Stage[Iterate]:
        """Return the problem without its implied zeros, where a run begins anew."""
        self.labelled = self.feasibility.face(self.labelled)
        return _stage(self.labelled, self.solver)


def _without_support(
    reference: Table, constraints: Sequence[Marginal], feasibility: Feasibility, stopping: Stopping
) -> Projection:
    """Return how far the reference itself is from targets of which one has no profile: no iteration is made."""
    try:
        labelled = build_problem(reference, constraints, bare_rows=True)
    except InfeasibleError:  # not one profile is left
        return empty_projection(reference, constraints, feasibility.diagnosed())
    outcome = run(labelled.arrays, IPF(), replace(stopping, max_iterations=0))
    outcome = replace(outcome, termination=Termination.INFEASIBLE)
    return make_projection(reference, labelled, outcome, None, feasibility.diagnosed())


def _warm_start(labelled: LabelledProblem, start: Projection | Sequence[Table]) -> FloatArray:
    tables = start.potentials if isinstance(start, Projection) else start
    if not (isinstance(tables, Sequence) and all(isinstance(table, Table) for table in tables)):
        raise InvalidOptionError(
            f"start must be a Projection or a sequence of tables of potentials, one per constraint, got {start!r}"
        )
    if not isinstance(start, Projection):
        _check_scopes(tables, labelled.full.scopes)
        _check_potentials(tables)
    return scaled_to_total(labelled.arrays, potentials_from(labelled, tables))


def _check_scopes(tables: Sequence[Table], scopes: Sequence[tuple[str, ...]]) -> None:
    """Refuse potentials of other constraints than those at hand."""
    given = [domain_of(table).attributes for table in tables]
    if sorted(map(sorted, given)) != sorted(map(sorted, scopes)):
        came, wanted = (" | ".join(", ".join(scope) for scope in some) or "none" for some in (given, scopes))
        raise InvalidOptionError(f"start is one table of potentials a constraint, over {wanted}, these are over {came}")


def _check_potentials(tables: Sequence[Table]) -> None:
    """Refuse potentials that are no numbers; -inf says that a target is zero."""
    for table in tables:
        values = np.asarray(table.values)
        if values.dtype.kind not in "buif":
            raise InvalidOptionError(f"the potentials of start are integers or floats, these are {values.dtype}")
        if np.isnan(values).any() or np.isposinf(values).any():
            raise InvalidOptionError(
                f"start has a potential over {', '.join(map(str, domain_of(table).attributes))} that is NaN or infinite"
            )


def _proof(labelled: LabelledProblem, outcome: Run) -> Certificate | None:
    """Return the certificate of the returned table; None where its numbers are not finite."""
    if outcome.termination is Termination.NOT_FINITE:
        return None
    return DualCertifier(labelled.arrays).certify(outcome.iterate)


def delivered(result: Answer, on_failure: str, tolerance: float = 0.0) -> Answer:
    """Return a Projection, or one of a stored table; raise or warn where it has not converged, as was asked.

    With the tolerance of a run that came to a limit, the message tells what may be left.
    """
    if result.converged or on_failure == "return":
        return result
    if result.termination is Termination.INFEASIBLE:
        message = explained(result.diagnosis)
        if on_failure == "raise":
            raise InfeasibleError(message, result.diagnosis)
    else:
        message = (
            f"not converged after {result.iterations} iterations: {result.termination.value}; residual "
            f"{result.residual:.2e}, {result.residual_l1:.2e} in L1, total mass 1{_outlook(result, tolerance)}"
        )
        if on_failure == "raise":
            raise NotConvergedError(message, result)
    warnings.warn(message, NotConvergedWarning, stacklevel=3)
    return result


def _outlook(result: Any, tolerance: float) -> str:
    """Return how many more iterations a run that came to a limit is likely to take; nothing where that is not told."""
    if not tolerance or result.termination not in (Termination.ITERATION_LIMIT, Termination.TIME_LIMIT):
        return ""
    watch = SweepsToGo(tolerance)
    watch.take(result.trace["iteration"].values, result.trace["residual"].values)
    return f"; {watch.text}" if watch.text else ""
