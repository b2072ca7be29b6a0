"""What figures compare: two pieces of work that take turns. A figure joins by a line in FIGURES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import purtensor as pt
from benchmarks.baselines import NumbaCodes, numpy_loop
from benchmarks.interleaved import scaling_in_place
from benchmarks.runs import Sweeps, solve, solver_problem
from benchmarks.whole_calls import (
    Raking,
    Transport,
    adult_people,
    dense_table,
    frame_by_numpy,
    frame_in_full,
    on_threads,
    pairs_of_attributes,
    pur_by_ipfn,
    pur_by_numpy,
    pur_in_full,
)
from purtensor.solving.problem import build_problem


@dataclass(frozen=True, slots=True)
class Contender:
    """A call, and how much work it does: its time is divided by it."""

    call: Callable[[], object]
    work: float = 1.0


@dataclass(frozen=True, slots=True)
class Contest:
    """Two contenders, and what is known without a clock, such as the number of sweeps."""

    ours: Contender
    other: Contender
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A ratio that this project states.

    Attributes
    ----------
    name
        How it is asked for.
    what, against
        Columns of the table.
    prepare
        Gives the contenders, ready to run; called when the figure is measured.
    goal
        The largest ratio that meets what the project promises; None where nothing was promised.
    heavy
        Whether it takes more than a few seconds or a gigabyte, and so is run only when asked for.
    """

    name: str
    what: str
    against: str
    prepare: Callable[[], Contest]
    goal: float | None = None
    heavy: bool = False


def sweep_against_numpy_loop(problem: str) -> Contest:
    """Return our sweep against the three plain lines a constraint."""
    named = pt.problems.load(problem)
    ours = Sweeps(solver_problem(named))
    plain = numpy_loop(named)
    return Contest(Contender(ours, ours.count), Contender(lambda: plain.sweep(ours.count), ours.count))


def sweep_against_numba_loop(problem: str) -> Contest:
    """Return our sweep against two plain compiled loops a constraint."""
    named = pt.problems.load(problem)
    ours = Sweeps(solver_problem(named))
    plain = NumbaCodes(named)
    return Contest(Contender(ours, ours.count), Contender(lambda: plain.sweep(ours.count), ours.count))


def sweep_against_scaling(problem: str) -> Contest:
    """Return our sweep against numpy's scaling in place of the same array."""
    ours = Sweeps(solver_problem(pt.problems.load(problem)))
    return Contest(Contender(ours, ours.count), Contender(scaling_in_place(ours.problem.reference)))


def solve_against_numpy_loop(problem: str, tolerance: float = 1e-10) -> Contest:
    """Return our whole solve on arrays against the plain numpy loop's."""
    named = pt.problems.load(problem)
    arrays = solver_problem(named)
    sweeps = solve(arrays, pt.IPF(), tolerance).iterations
    others = numpy_loop(named).solve(tolerance)
    return Contest(
        Contender(lambda: solve(arrays, pt.IPF(), tolerance)),
        Contender(lambda: numpy_loop(named).solve(tolerance)),
        remark=f"{sweeps} sweeps, {others} theirs",
    )


def newton_against_ipf(problem: str, tolerance: float = 1e-10) -> Contest:
    """Return Newton's whole solve on arrays against IPF's."""
    arrays = solver_problem(pt.problems.load(problem))
    steps, sweeps = (solve(arrays, solver, tolerance).iterations for solver in (pt.Newton(), pt.IPF()))
    return Contest(
        Contender(lambda: solve(arrays, pt.Newton(), tolerance)),
        Contender(lambda: solve(arrays, pt.IPF(), tolerance)),
        remark=f"{steps} steps, {sweeps} sweeps",
    )


def newton_step_against_scaling(problem: str, tolerance: float = 1e-12) -> Contest:
    """Return a Newton step against numpy's scaling in place of the same array.

    A step is its share of the whole solve, warm-up and loop included.
    """
    arrays = solver_problem(pt.problems.load(problem))
    steps = solve(arrays, pt.Newton(), tolerance).iterations
    return Contest(
        Contender(lambda: solve(arrays, pt.Newton(), tolerance), steps),
        Contender(scaling_in_place(arrays.reference)),
        remark=f"{steps} steps to {tolerance:g}",
    )


def labels_against_numpy_loop(problem: str, tolerance: float = 1e-10) -> Contest:
    """Return the way from labels to labels against the plain numpy loop on arrays."""
    named = pt.problems.load(problem)
    reference, constraints = named.reference, named.constraints
    return Contest(
        Contender(lambda: pt.project(reference, constraints, solver=pt.IPF(), tolerance=tolerance, certificate=False)),
        Contender(lambda: numpy_loop(named).solve(tolerance)),
    )


def whole_call_against_numpy_loop(unprotected: int) -> Contest:
    """Return pur and project with its proof, on one thread, against the plain loop, which proves nothing."""
    table = dense_table(5, 6, unprotected)
    sweeps = pt.project(table, pt.pur(table, response="y", protected="s")).iterations
    return Contest(
        Contender(lambda: on_threads(1, partial(pur_in_full, table))),
        Contender(lambda: pur_by_numpy(table.values)),
        remark=f"{sweeps} sweeps",
    )


def whole_call_against_ipfn(unprotected: int) -> Contest:
    """Return pur and project with its proof on a dense table against ipfn on arrays, which has to be installed."""
    table = dense_table(5, 6, unprotected)
    return Contest(Contender(lambda: pur_in_full(table)), Contender(lambda: pur_by_ipfn(table)))


def threads_against_one(unprotected: int, threads: int = 2) -> Contest:
    """Return a whole call on several threads against one on one: by the clock, on a machine without other work."""
    table = dense_table(5, 6, unprotected)
    ours, other = (Contender(partial(on_threads, count, partial(pur_in_full, table))) for count in (threads, 1))
    return Contest(ours, other)


def frame_against_numpy() -> Contest:
    """Return the way from a frame of 30,000 people to the certified answer against pandas and numpy without a proof."""
    people = adult_people()
    return Contest(Contender(lambda: frame_in_full(people)), Contender(lambda: frame_by_numpy(people)))


def sparse_call_against_scaling(problem: str) -> Contest:
    """Return pur and project with its proof on a sparse problem against numpy's scaling in place of its masses."""
    f = pt.problems.load(problem).reference
    return Contest(Contender(lambda: pur_in_full(f)), Contender(scaling_in_place(f.values)))


def pairs_against_scaling(profiles: int) -> Contest:
    """Return the projection of a sparse table onto all pairs of 20 attributes against scaling its masses in place."""
    table, pairs = pairs_of_attributes(profiles)
    constraints, start = pt.marginals_of(table, pairs), pt.uniform(table)
    return Contest(Contender(lambda: pt.project(start, constraints)), Contender(scaling_in_place(table.values)))


def raking_against_newton(records: int) -> Contest:
    """Return the way from weighted records to the certified answer against Newton's method on a dense matrix."""
    raking = Raking(records)
    return Contest(Contender(raking.in_full), Contender(raking.by_newton))


def pur_against_scaling(unprotected: int) -> Contest:
    """Return the making of PUR's conditions of a dense table against numpy's scaling of it in place."""
    table = dense_table(5, 6, unprotected)
    return Contest(
        Contender(lambda: pt.pur(table, response="y", protected="s")), Contender(scaling_in_place(table.values))
    )


def two_way_sweep_against_products(points: int, reach: float) -> Contest:
    """Return our sweep over a dense two-way table against two products of a matrix and a vector by numpy."""
    transport = Transport(points, reach)
    ours = Sweeps(build_problem(transport.reference, transport.constraints).arrays)
    return Contest(Contender(ours, ours.count), Contender(lambda: transport.sweeps_by_numpy(ours.count), ours.count))


def transport_against_momentum(points: int, reach: float) -> Contest:
    """Return a transport plan to 1e-9 with its proof against the best momentum by numpy without one, on one thread."""
    transport = Transport(points, reach)
    relaxation, sweeps = transport.best_relaxation()
    return Contest(
        Contender(lambda: on_threads(1, transport.project)),
        Contender(lambda: transport.relaxed_by_numpy(relaxation)),
        remark=f"{transport.project().iterations} sweeps, {sweeps} theirs",
    )


FIGURES = {
    figure.name: figure
    for figure in (
        Figure("sweep-b", "b: IPF sweep", "numpy loop", partial(sweep_against_numpy_loop, "b"), goal=1.0),
        Figure("sweep-g", "g: IPF sweep", "numpy loop", partial(sweep_against_numpy_loop, "g")),
        Figure("sweep-i", "i: IPF sweep", "numpy loop", partial(sweep_against_numpy_loop, "i")),
        Figure("sweep-e", "e: IPF sweep", "numpy loop", partial(sweep_against_numpy_loop, "e"), heavy=True),
        Figure("sweep-b-numba", "b: IPF sweep", "numba loop", partial(sweep_against_numba_loop, "b")),
        Figure("sweep-g-numba", "g: IPF sweep", "numba loop", partial(sweep_against_numba_loop, "g")),
        Figure("sweep-i-numba", "i: IPF sweep", "numba loop", partial(sweep_against_numba_loop, "i")),
        Figure("sweep-c-scaling", "c: IPF sweep", "scaling in place", partial(sweep_against_scaling, "c")),
        Figure("sweep-d-scaling", "d: IPF sweep", "scaling in place", partial(sweep_against_scaling, "d")),
        Figure("sweep-e-scaling", "e: IPF sweep", "scaling in place", partial(sweep_against_scaling, "e"), heavy=True),
        Figure("sweep-f-scaling", "f: IPF sweep", "scaling in place", partial(sweep_against_scaling, "f"), heavy=True),
        Figure("solve-a", "a: IPF to 1e-10", "numpy loop", partial(solve_against_numpy_loop, "a")),
        Figure("solve-b", "b: IPF to 1e-10", "numpy loop", partial(solve_against_numpy_loop, "b")),
        Figure("solve-i", "i: IPF to 1e-10", "numpy loop", partial(solve_against_numpy_loop, "i"), goal=0.5),
        Figure("newton-b", "b: Newton to 1e-10", "our IPF", partial(newton_against_ipf, "b"), goal=1 / 50),
        Figure("step-b", "b: Newton step", "scaling in place", partial(newton_step_against_scaling, "b"), goal=100),
        Figure(
            "step-c_hard2",
            "c_hard2: Newton step",
            "scaling in place",
            partial(newton_step_against_scaling, "c_hard2"),
            goal=100,
        ),
        Figure("call-6e3", "dense 6e3: pur, project, proof", "numpy loop", partial(whole_call_against_numpy_loop, 200)),
        Figure(
            "call-6e5", "dense 6e5: pur, project, proof", "numpy loop", partial(whole_call_against_numpy_loop, 20_000)
        ),
        Figure(
            "call-6e6",
            "dense 6e6: pur, project, proof",
            "numpy loop",
            partial(whole_call_against_numpy_loop, 200_000),
            goal=1.0,
            heavy=True,
        ),
        Figure("call-6e3-ipfn", "dense 6e3: pur, project, proof", "ipfn", partial(whole_call_against_ipfn, 200)),
        Figure(
            "threads-6e6",
            "dense 6e6 on two threads",
            "on one",
            partial(threads_against_one, 200_000),
            goal=0.7,
            heavy=True,
        ),
        Figure("frame", "Adult: from a frame to the proof", "pandas, numpy", frame_against_numpy, goal=2.5),
        Figure("call-c", "c: pur, project, proof", "scaling in place", partial(sparse_call_against_scaling, "c")),
        Figure(
            "call-d",
            "d: pur, project, proof",
            "scaling in place",
            partial(sparse_call_against_scaling, "d"),
            goal=1500,
            heavy=True,
        ),
        Figure("pairs-1e5", "1e5 x 190 pairs", "scaling in place", partial(pairs_against_scaling, 100_000), heavy=True),
        Figure(
            "pairs-1e6",
            "1e6 x 190 pairs",
            "scaling in place",
            partial(pairs_against_scaling, 1_000_000),
            goal=50_000,
            heavy=True,
        ),
        # the fastest package takes 0.72 of that Newton's time (0.26 s and 0.36 s): the goal is 0.4 of the package
        Figure("raking", "1e5 records x 100", "dense Newton", partial(raking_against_newton, 100_000), goal=0.29),
        Figure("pur-6e6", "dense 6e6: pur", "scaling in place", partial(pur_against_scaling, 200_000), 40, heavy=True),
        Figure(
            "two-way",
            "transport 400 x 400: sweep",
            "two products",
            partial(two_way_sweep_against_products, 400, 0.05),
            2,
        ),
        Figure(
            "two-way-far",
            "transport 400 x 400, far apart: sweep",
            "two products",
            partial(two_way_sweep_against_products, 400, 0.004),
            2,
        ),
        *(
            Figure(
                f"transport-{points}-{reach:g}",
                f"transport {points} x {points}, {reach:g}: project, proof",
                "tuned momentum",
                partial(transport_against_momentum, points, reach),
                2,
            )
            for points, reach in ((400, 0.05), (400, 0.01), (400, 0.005), (1000, 0.05), (1000, 0.01), (1000, 0.005))
        ),
        Figure("labels-a", "a: pt.project to 1e-10", "numpy loop", partial(labels_against_numpy_loop, "a")),
    )
}
