"""`purtensor compare`: solvers on problems, as tables, files, pictures and a report."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import purtensor as pt
from purtensor._threads import VARIABLE, thread_count
from purtensor.cli.declarations import DONE, INTERRUPTED
from purtensor.cli.output import bar, show_facts, show_frame, write_frame, write_text
from purtensor.cli.records import counts_of
from purtensor.comparison.contenders import name_of
from purtensor.records.files import is_of_records
from purtensor.report.comparison import MANY, PROFILE, RATIOS, comparison_report, ratio_table
from purtensor.report.page import write_report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def run(arguments: argparse.Namespace) -> int:
    """Compare, write the files and the report, and print the tables; or make a study of convergence rates."""
    with _importing_from_here(), _worker_processes(arguments.workers) as executor:
        if arguments.fair:
            from purtensor.cli.compare_fair import write_fair  # needs scikit-learn, which solvers do not

            return write_fair(arguments, executor)
        if not arguments.study:
            return _compare(arguments, executor)
        from purtensor.cli.rate_study import write_study  # needs matplotlib, which a comparison does not

        for problem in (arguments.problems or ["b"])[: 1 if arguments.study == "atlas" else None]:
            ending = write_study(arguments.study, problem, arguments.out, executor)
            if ending != DONE:
                return ending
        return DONE


def _compare(arguments: argparse.Namespace, executor: Any) -> int:
    if not arguments.problems:
        raise pt.InvalidOptionError("no problem was given: name one, such as b")
    solvers = [_solver(name) for name in arguments.solvers]
    names = [name_of(solver) for solver in solvers]
    baseline = arguments.baseline or names[0]
    if baseline not in names:
        message = f"--baseline must be one of the solvers, {', '.join(names)}, got {baseline}"
        raise pt.InvalidOptionError.among("--baseline", baseline, names, message)
    problems = dict(_problem(text, arguments) for text in arguments.problems)
    with bar("comparing", len(problems)) as shown:
        compared = pt.compare(
            problems,
            solvers,
            budget=arguments.budget,
            tolerance=arguments.tolerance,
            max_iterations=arguments.max_iterations,
            repetitions=arguments.repetitions,
            clock=arguments.clock,
            executor=executor,
            on_step=lambda problem, solver: shown.step(f"{problem}: {solver}"),
        )
    ratios = ratio_table(compared, baseline)
    show_facts("comparison", dict(compared.settings))
    show_frame(
        "runs: residual of the returned table at total mass 1; KL divergence of the certified answer from it in nats",
        compared.table(),
    )
    show_frame(f"times as multiples of {baseline}: medians of paired ratios", ratios)
    show_facts(f"written to {arguments.out}", _write_results(compared, arguments, baseline))
    return INTERRUPTED if "interrupted" in compared.settings else DONE


def _write_results(compared: pt.results.Comparison, arguments: argparse.Namespace, baseline: str) -> dict[str, str]:
    """Write everything and return what is where."""
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    numbers = {
        "runs.csv": compared.runs,
        "times.csv": compared.times,
        "trace.csv": compared.trace,
        "ratios.csv": compared.ratios(baseline),
        "paired.csv": compared.paired(baseline),
        "growth.csv": compared.growth(),
    }
    for name, frame in numbers.items():
        write_frame(frame, out / name)
    write_text(compared.to_markdown() + "\n", out / "runs.md")
    write_text(compared.to_latex(), out / "runs.tex")
    try:
        report = _write_report(compared, out, baseline, arguments.typed).name
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        report = f"left out: {error}"
    return {"report": report, "numbers": ", ".join(numbers), "tables": "runs.md, runs.tex"}


def _write_report(compared: pt.results.Comparison, out: Path, baseline: str, command: str) -> Path:
    """Write the pictures and the report into a folder, and return the path of the report."""
    from purtensor.plots.save_figure import save_figure  # it stands on matplotlib, which numbers do not need

    figures = {}
    for name, title, axes in _draw(compared, baseline):
        figures[name], _ = save_figure(axes, out / re.sub(r"[^\w-]+", "_", name).strip("_"), title=title)
    page = comparison_report(compared, figures, baseline=baseline)
    return write_report(page, out / "report.html", command=command)


def _draw(compared: pt.results.Comparison, baseline: str) -> Iterator[tuple[str, str, Axes]]:
    solvers = list(dict.fromkeys(compared.runs["solver"]))
    ratios = compared.ratios(baseline)
    if len(compared.problems) >= MANY:
        title = "Problems solved, by how much slower than the fastest"
        yield PROFILE, title, pt.plots.plot_performance_profile(compared.performance_profile(), title=title)
    # ratios of the baseline to itself show nothing
    if (ratios["solver"] != baseline).any():
        title = f"Times as multiples of {baseline}"
        yield RATIOS, title, pt.plots.plot_time_ratios(ratios, to=baseline, title=title)
    for problem in compared.problems:
        trace = compared.trace[compared.trace["problem"] == problem]
        if (trace["residual"].notna() & (trace["seconds"] > 0) & (trace["iteration"] > 0)).any():
            title = f"{problem}: time to accuracy"
            axes = pt.plots.plot_time_to_accuracy(trace, tolerance=compared.tolerance, title=title, solvers=solvers)
            yield problem, title, axes


@contextmanager
def _worker_processes(number: int) -> Iterator[ProcessPoolExecutor | None]:
    """Yield an executor of so many processes; None for one, which is this process itself.

    They share the threads that one process would use. Ctrl-C ends them at once, also where only this process hears it.

    Raises
    ------
    InvalidOptionError
        The number is less than 1.
    """
    if number < 1:
        raise pt.InvalidOptionError(f"--workers must be at least 1, got {number}")
    if number == 1:
        yield None
        return
    # only processes that were started here are ended
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")  # forked, they would have locks that threads held
    threads = max(1, thread_count() // number)
    with ProcessPoolExecutor(number, mp_context=context, initializer=_begin, initargs=(threads,)) as executor:
        try:
            yield executor
        finally:  # nothing is left to do but what was interrupted
            executor.shutdown(wait=False, cancel_futures=True)  # it forgets them before it finds its processes ended
            for process in set(multiprocessing.active_children()) - before:
                process.terminate()


def _begin(threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an end without a traceback
    os.environ[VARIABLE] = str(threads)


@contextmanager
def _importing_from_here() -> Iterator[None]:
    """Let modules be imported, here and by workers, from the folder in which the command is typed."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _solver(text: str) -> Any:
    """Return a solver by name, or the object at module:name; a class is instantiated."""
    if ":" not in text:
        return text
    module, _, name = text.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise pt.InvalidOptionError(f"no solver at {text}: {error}") from None
    return found() if isinstance(found, type) else found


def _problem(text: str, arguments: argparse.Namespace) -> tuple[str, Any]:
    """Return a problem with its name: PUR on a file of records, or any problem that `compare` accepts."""
    path = Path(text)
    # names, families with sizes and saved projections are left to `compare`
    if not is_of_records(text):
        return (path.stem if path.suffix == ".nc" else text), text
    counts = counts_of(path, arguments)
    f = pt.regularize(counts, arguments.strength, response=arguments.response)
    return path.name.split(".")[0], (f, pt.pur(f, response=arguments.response, protected=arguments.protected))
