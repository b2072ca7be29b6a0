"""`purtensor reproduce`: the paper's studies, as tables, files and pictures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from purtensor.cli import reproduce_wage
from purtensor.cli.output import show_facts, show_table
from purtensor.experiments.adult import (
    DISTRIBUTIONS,
    POSITIVE,
    PROTECTED,
    REFERENCE,
    AdultStudy,
    Disparity,
    study_adult,
)
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.figures import save_figure
from purtensor.projection.files import save
from purtensor.tables.coded import encode

try:
    from rich.console import Console
except ImportError:  # an optional extra
    Console = None  # type: ignore[assignment, misc]

NAMES = {"f": "data, f", "P": "P", "PU": "P + U", "PUR": "P + U + R", "MaxEnt": "MaxEnt-PUR"}
SAMPLES = {
    "itself": "in the distribution itself",
    "train": "predicted by the natural classifier, train split",
    "test": "predicted by the natural classifier, test split",
    "synthetic": "in data drawn from it, mean(deviation in its digits)",
}


def run(arguments: argparse.Namespace) -> None:
    """Compute the study, write its files, and print its tables."""
    if arguments.study == "wage":
        reproduce_wage.run(arguments)
        return
    folder = arguments.out / arguments.study
    folder.mkdir(parents=True, exist_ok=True)
    with _steps() as on_step:
        study = study_adult(
            strength=arguments.strength, data_sets=arguments.data_sets, seed=arguments.seed, on_step=on_step
        )
        on_step("writing files")
        written = write_files(study, folder)
    show_facts("Adult, UCI's train split, the paper's sample", facts(study))
    for sample, text in SAMPLES.items():
        show_disparities(study, sample, text)
    show_costs(study)
    show_facts(f"written to {folder}", {"files": ", ".join(path.name for path in written)})


@contextmanager
def _steps() -> Iterator[Callable[[str], None]]:
    """Show what is being done on a terminal; say nothing where there is none."""
    if Console is None or not sys.stderr.isatty():
        yield lambda step: None
        return
    with Console(stderr=True).status("reading the data") as status:
        yield lambda step: status.update(step)


def facts(study: AdultStudy) -> dict[str, str]:
    """Return what was computed from what."""
    coded = encode(study.distributions["f"])
    return {
        "persons": f"{float(study.train.sum()):,.0f} train, {float(study.test.sum()):,.0f} test",
        "profiles": f"{len(coded.values)} supported of {coded.domain.size}",
        "lambda": f"{study.strength:g}",
        "unseen": f"{study.unseen:.2e} of the test mass, on predictor profiles that train never saw: left out",
    }


def show_disparities(study: AdultStudy, sample: str, text: str) -> None:
    """Print the disparity ratios of one sample, a line a protected profile."""
    found = {(d.group, d.distribution): d for d in study.disparities if d.sample == sample}
    groups = list(dict.fromkeys(group for group, _ in found))
    rows = [(group, *(_ratio(found[group, name]) for name in DISTRIBUTIONS)) for group in groups]
    title = f"{POSITIVE}: ratio to {', '.join(REFERENCE.values())}; {text}"
    if rows:
        show_table(title, (", ".join(PROTECTED), *(NAMES[name] for name in DISTRIBUTIONS)), rows)


def _ratio(disparity: Disparity) -> str:
    mean = f"{disparity.ratio:.3f}"
    return mean if disparity.deviation is None else f"{mean}({1000 * disparity.deviation:.0f})"


def show_costs(study: AdultStudy) -> None:
    """Print what each projection costs and how well it is solved."""
    rows = [
        (
            NAMES[cost.distribution],
            f"{cost.divergence:.9f}",
            f"{cost.utility_error_train:.2e}",
            f"{cost.utility_error_test:.2e}",
            "" if cost.residual is None else f"{cost.residual:.1e}",
            "" if cost.tv_bound is None else f"{cost.tv_bound:.1e}",
            "" if cost.sweeps is None else str(cost.sweeps),
        )
        for cost in study.costs
    ]
    columns = ("", "KL paid", "error train", "error test", "residual", "TV proved", "sweeps")
    show_table("KL(q || f) and utility error in nats; residual and distance for total mass 1", columns, rows)


def write_files(study: AdultStudy, folder: Path) -> list[Path]:
    """Write the distributions, the numbers and the picture, and return the paths."""
    written = []
    for name, table in study.distributions.items():
        written += [folder / f"{name}.csv", folder / f"{name}.nc"]
        save(table, written[-2])
        save(study.projections.get(name, table), written[-1])
    for name, rows in (("disparities", study.disparities), ("costs", study.costs)):
        written.append(folder / f"{name}.csv")
        pd.DataFrame([asdict(row) for row in rows]).to_csv(written[-1], index=False)
    return [*written, *write_picture(study, folder / "disparities")]


def write_picture(study: AdultStudy, path: Path) -> tuple[Path, Path]:
    """Write the picture of the disparities on the test split, as SVG and PNG."""
    found = [d for d in study.disparities if d.sample == "test"]
    ratios = pd.DataFrame({name: {d.group: d.ratio for d in found if d.distribution == name} for name in DISTRIBUTIONS})
    ratios = ratios.sort_values("f", ascending=False)
    group = ", ".join(REFERENCE.values())
    title = "Who is predicted to earn more than 50K? Adult, test split"
    compared = f"P({POSITIVE} | group) / P({POSITIVE} | {group}), by the natural classifier"
    axes = plot_disparity_ratios(ratios, names=NAMES, title=title, compared=compared)
    return save_figure(axes, path, title=title)
