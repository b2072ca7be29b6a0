"""The information projection, from labels to labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import purtensor.outofcore as outofcore
from purtensor._options import check_choice, check_flag
from purtensor._typing import Table, TableT
from purtensor.constraints.marginals import as_constraints
from purtensor.errors import InvalidOptionError
from purtensor.kernels.engine import engine_for
from purtensor.projection.deliver import deliver
from purtensor.projection.general import potentials_of, run_general
from purtensor.projection.labelled_answer import general_projection
from purtensor.projection.log_reference import IN_LOG, IN_MASS
from purtensor.projection.marginal_question import MarginalQuestion
from purtensor.projection.options import check_telling, refuse_changes, refuse_log_ratio, solver_of, stopping_of
from purtensor.projection.progress import progress_callback
from purtensor.projection.result import Projection
from purtensor.solving.dual.labelled import build_question
from purtensor.solving.dual.options import Bounds, GeneralOptions, general_constraints, is_plain
from purtensor.solving.dual.watch import StepLine
from purtensor.solving.iterate import Solver
from purtensor.solving.loop import Progress
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.gis import GIS
from purtensor.solving.solvers.ipf.solver import IPF
from purtensor.solving.solvers.lbfgs import LBFGS
from purtensor.solving.solvers.newton import Newton
from purtensor.tables.store.table import StoredTable, is_chunked

_METHODS: dict[str, object] = {"newton": Newton(), "ipf": IPF(), "gis": GIS(), "lbfgs": LBFGS()}
_MOST_STEPS = {"newton": 2000, "ipf": 100_000, "gis": 1_000_000, "lbfgs": 100_000}
"""Newton steps of a question with rows of any kind, where no limit is given."""


def project(
    reference: TableT,
    constraints: Any,
    *,
    solver: Solver | str | None = None,
    tolerance: float = 1e-10,
    stop_on: str = "residual",
    max_iterations: int | None = None,
    max_seconds: float | None = None,
    on_failure: str = "raise",
    certificate: bool = True,
    start: Projection[Any] | Sequence[Table] | None = None,
    progress: bool = False,
    callback: Callable[[Progress], Any] | None = None,
    ratio_bounds: Bounds = None,
    cell_bounds: Bounds = None,
    distance: str = "kl",
    total: str | float = "constrained",
    size: float | None = None,
    signed: bool = False,
    reference_in: str = IN_MASS,
) -> Projection[TableT]:
    """Return the distribution that meets the constraints and is closest to the reference in KL divergence.

    Ctrl-C ends the call like a limit, with the current state but without a certificate: see `on_failure`.

    Parameters
    ----------
    reference
        A table of counts or probabilities; its positive profiles are the support. A stored table is projected slab by
        slab by the current dask scheduler, and its answer is stored beside it. A table of dask chunks is stored first,
        in a folder `purtensor-...` in dask's option `temporary-directory` or the system's temporary directory; the
        folder also contains the answer and is kept until you delete it.
    constraints
        A constraint, or any iterable of constraints, flattened one level: Marginals, whose targets share one total, or
        any others, such as Linear, total, mean, share, between(...) and soft(...).
    solver
        Any object with a method `step`, such as `IPF()`, or the name of a solver, such as "newton" or
        "ipf(relaxation=1.5)"; chosen automatically when None. Other rows than marginals with targets, bounds,
        distances and totals support `Newton()` (the default there), `IPF()` (Bregman's projections onto each row in
        turn), `LBFGS()` and, if rows are sums of masses, `GIS()`.
    tolerance
        The run has converged when the residual is within the tolerance and the L1 miss of each constraint within 100
        times the tolerance (total mass 1), both computed from the returned table. With `stop_on="tv_bound"` the
        tolerance applies to the proved distance, with `stop_on="log_ratio"` to the proved bound on |log(q / table)| of
        every profile.
    max_iterations, max_seconds
        Limits on the solver; 1,000,000 iterations and no time limit when None. The time is checked between steps, of
        about 0.04 s; a single step of Newton's method, or a verdict, may take longer.
    on_failure
        What to do when the constraints are not met: "raise" an error, "warn", or "return" the current state.
    certificate
        Whether to compute a certificate at the end; it costs as much as 3 to 10 Newton iterations.
    start
        An earlier projection, or its potentials, to start from; the reference and the targets may have changed.
    progress
        Whether to show the residual on a terminal during the run.
    callback
        Called with a Progress after every step; returning True ends the run.

    ratio_bounds, cell_bounds
        Pairs (lower, upper) of numbers, tables or None: bounds on table / reference, with the reference scaled to the
        total of the table, and bounds on the masses. Profiles that a table of bounds does not list have no bound.
    distance
        The distance to minimise: "kl", "linear" (chi-squared, which allows negative masses unless bounds forbid them),
        or "logit", which keeps ratios strictly between their bounds.
    total
        "constrained" by a hard constraint, "reference", a number, or "free": then masses are compared as they are.
    size
        The sample size to which the standard errors of soft constraints refer; the total when None.
    signed
        Whether the reference may have negative masses, whose signs are kept (GRAS).
    reference_in
        "mass", or "log": the reference is a table of logarithms of masses, such as -cost / epsilon in optimal
        transport, which may be too small for floats; -inf is a mass of 0. A constant added to it changes nothing.
        The potentials are relative to it: log(table) = reference + C^T potentials. For marginals with targets.

    Returns
    -------
    Projection
        The table with its certificate, in the layout of the reference; on disk if the reference is.

    Raises
    ------
    InvalidTableError, UnknownAttributeError, UnknownCategoryError, InconsistentTargetsError
        The input is invalid; raised before any solve, with the name of the fault.
    InfeasibleError
        No distribution on the support meets the constraints.
    NotConvergedError
        The solver ended for any other reason without convergence; the error carries the current Projection.

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
    check_choice("reference_in", reference_in, (IN_MASS, IN_LOG))
    options = GeneralOptions(ratio_bounds, cell_bounds, distance, total, size, signed)
    if isinstance(reference, StoredTable) or is_chunked(reference):
        if reference_in == IN_LOG:
            raise InvalidOptionError(
                'tables on disk hold masses; reference_in="log" takes tables in memory, such as to_table() gives'
            )
        if not options.plain:
            raise InvalidOptionError(
                "tables on disk can be projected onto marginals with targets only, without bounds, other distances or "
                "totals; if the table fits into memory, give its to_table()"
            )
        stored = outofcore.project_stored(
            reference,
            constraints,
            # None stays None: on disk it stands for Newton's method, in memory for the automatic choice
            solver=None if solver is None else solver_of(solver),
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
        return cast("Projection[TableT]", stored)
    stopping = stopping_of(tolerance, stop_on, max_iterations, max_seconds)
    check_choice("on_failure", on_failure, ("raise", "warn", "return"))
    chosen = solver_of(solver)
    table, given = cast(Table, reference), general_constraints(constraints)
    with (
        refuse_changes(table, given),
        progress_callback(progress, callback, stopping.residual) as report,
    ):
        if is_plain(given, options):
            question = MarginalQuestion(table, as_constraints(given), chosen, stopping, reference_in)
            # small problems run in numpy as long as nothing is compiled: compiling takes longer than they do
            with engine_for(table.size * len(question.constraints)) as note:
                found = question.answer(
                    start,
                    report,
                    certificate=bool(certificate),
                    on_failure=on_failure,
                    note=note,
                    # a progress line sees residuals only; a callback may look at the iterate
                    points_seen=callback is not None,
                )
        else:
            if reference_in == IN_LOG:
                raise InvalidOptionError(
                    'reference_in="log" takes marginals with targets only, without bounds, other distances or totals; '
                    "where float64 holds its masses, give numpy.exp of the reference"
                )
            method = _method_of(solver)
            refuse_log_ratio(stop_on, "rows of other kinds than marginals with targets")
            # a Newton step does the work of many sweeps: each method has a limit of its own
            if max_iterations is None:
                stopping = replace(stopping, max_iterations=_MOST_STEPS[method])
            # from here on rows of any kind: marginals with targets are equalities among them
            labelled = build_question(table, given, options)
            run = run_general(
                labelled,
                tolerance=stopping.tolerance,
                stop_on=stop_on,
                max_iterations=stopping.max_iterations,
                max_seconds=stopping.max_seconds,
                certificate=bool(certificate),
                start=None if start is None else potentials_of(start, labelled.question),
                callback=None if report is None else _report_steps(report),
                method=method,
                memory=(solver if isinstance(solver, LBFGS) else LBFGS()).memory,
            )
            found = general_projection(table, run.labelled, run.answer, run.verdict)
    # forecasts of sweeps are about marginals: 0 asks for none
    awaited = 0.0 if found.is_general else stopping.residual
    return cast("Projection[TableT]", deliver(found, on_failure, awaited, by_sweeps=chosen == IPF()))


def _method_of(solver: object) -> str:
    """Return the word for a solver of rows of any kind; others, and options of marginals alone, are refused."""
    for method, known in _METHODS.items():
        # exactly the type: a subclass may step in another way
        if type(solver) is type(known):
            # sweeps before Newton's steps are of marginals; how many steps L-BFGS remembers is not
            if solver == known or method in ("newton", "lbfgs"):
                return method
            raise InvalidOptionError(
                f"the options of {solver!r} apply to marginals with targets; other rows, bounds, distances and "
                f"totals accept {known!r}"
            )
    if solver is None or isinstance(solver, Automatic):
        return "newton"
    raise InvalidOptionError(
        f"{solver!r} solves marginals with targets only; other rows, bounds, distances and totals need "
        "solver=Newton(), IPF(), GIS(), LBFGS(), or None"
    )


def _report_steps(report: Callable[[Progress], Any]) -> Callable[[StepLine], bool]:
    """Return a callback of Progress as one of the dual's lines; there is no iterate of marginals to show."""
    nothing: Any = None
    return lambda line: report(Progress(line.iteration, line.seconds, line.residual, line.residual, nothing)) is True
