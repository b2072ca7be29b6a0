"""`purtensor compare`: solvers on problems, as tables, files, pictures and a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from purtensor.cli.endings import DONE, INTERRUPTED
from purtensor.cli.output import show_facts, show_frame, write_frame, write_text
from purtensor.cli.progress import bar
from purtensor.cli.records import counts_of
from purtensor.cli.workers import worker_processes
from purtensor.comparison.compare import compare
from purtensor.comparison.contenders import name_of
from purtensor.comparison.result import Comparison
from purtensor.errors import InvalidOptionError
from purtensor.fairness.pur import pur
from purtensor.records.files import is_of_records
from purtensor.report.comparison import ratio_table
from purtensor.tables.regularize import regularize


def run(arguments: argparse.Namespace) -> int:
    """Compare, write the files and the report, and print the tables; or make a study of convergence rates."""
    with _importing_from_here(), worker_processes(arguments.workers) as executor:
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
        raise InvalidOptionError("no problem was given: name one, such as b")
    solvers = [_solver(name) for name in arguments.solvers]
    names = [name_of(solver) for solver in solvers]
    baseline = arguments.baseline or names[0]
    if baseline not in names:
        message = f"--baseline must be one of the solvers, {', '.join(names)}, got {baseline}"
        raise InvalidOptionError.among("--baseline", baseline, names, message)
    problems = dict(_problem(text, arguments) for text in arguments.problems)
    with bar("comparing", len(problems)) as shown:
        compared = compare(
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


def _write_results(compared: Comparison, arguments: argparse.Namespace, baseline: str) -> dict[str, str]:
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
        from purtensor.cli.reports import write_pictures  # needs matplotlib and jinja2, which numbers do not

        report = write_pictures(compared, out, baseline, arguments.typed).name
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        report = f"left out: {error}"
    return {
        "report": report,
        "numbers": ", ".join(numbers),
        "tables": "runs.md, runs.tex",
    }


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
        raise InvalidOptionError(f"no solver at {text}: {error}") from None
    return found() if isinstance(found, type) else found


def _problem(text: str, arguments: argparse.Namespace) -> tuple[str, Any]:
    """Return a problem with its name: PUR on a file of records, or any problem that `compare` accepts."""
    path = Path(text)
    if not is_of_records(text):
        return (path.stem if path.suffix == ".nc" else text), text
    counts = counts_of(path, arguments)
    f = regularize(counts, arguments.strength, response=arguments.response)
    return path.name.split(".")[0], (f, pur(f, response=arguments.response, protected=arguments.protected))
