"""`purtensor reproduce adult`: the paper's study of the Adult data, as tables, files, pictures and a report."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

import purtensor as pt
from purtensor.cli.adult_exhibits import NAMES, exhibits
from purtensor.cli.installation import list_versions
from purtensor.cli.output import bar, show_claims, show_facts, show_frame, write_frames
from purtensor.report.page import Part, Report, write_report
from purtensor.studies.adult import study_adult
from purtensor.studies.adult_claims import claims
from purtensor.studies.adult_numbers import facts, frames
from purtensor.studies.adult_study import POSITIVE, PROTECTED, REFERENCE, AdultStudy
from purtensor.studies.claims import Claim, claims_frame
from purtensor.studies.forests import FOREST
from purtensor.studies.population import DRAWN_FROM, UNSEEN

SAMPLES = {
    "itself": "in the distribution itself (standard error in its digits)",
    "train": "predicted by the natural classifier, train split",
    "test": "predicted by the natural classifier, test split",
    "synthetic": "in data drawn from it, mean(deviation in its digits)",
    "forest": "predicted by forests trained on such data, test split",
}
_GROUP = ", ".join(PROTECTED)
_RATIO = f"{POSITIVE}: ratio to {', '.join(REFERENCE.values())}"
SUMMARY = (
    "Income in the UCI Adult data is projected onto demographic parity (P), decision utility (U) and social realism "
    "(R): the nearest distribution in which income does not depend on gender and race. Everything is fitted on UCI's "
    "train split; natural classifiers and random forests predict on its test split. After 'Demographic Parity: "
    "Mitigating Biases in Real-World Data' (O. Loukas and H. R. Chung, arXiv 2309.17347)."
)


def run(arguments: argparse.Namespace) -> None:
    """Compute the study, write its files and its report, and print its tables."""
    folder = arguments.out / arguments.study
    folder.mkdir(parents=True, exist_ok=True)
    with bar("reading the data", arguments.data_sets) as shown:
        study = study_adult(
            strength=arguments.strength,
            data_sets=arguments.data_sets,
            seed=arguments.seed,
            drawn_from=arguments.drawn_from,
            unseen=arguments.unseen,
            workers=arguments.workers,
            folder=folder,
            on_step=shown.step,
            on_member=shown.done,
        )
        shown.step("writing files")
        numbers, verdicts = frames(study), claims(study)
        for name, table in study.distributions.items():
            pt.save(table, folder / f"{name}.csv")
            pt.save(study.projections.get(name, table), folder / f"{name}.nc")
        written = write_frames({**numbers, "claims": claims_frame(verdicts)}, folder)
    show_facts("Adult, UCI's train split, the paper's sample", facts(study))
    show_data_ratios(numbers["data_ratios"])
    for sample, text in SAMPLES.items():
        show_disparities(study, sample, text)
    show_costs(study.costs)
    show_decisions(numbers["decisions"])
    show_claims(verdicts)
    report = write_report(as_report(study, numbers, verdicts, folder), folder / "report.html", command=arguments.typed)
    tables = [f"{name}.{kind}" for name in study.distributions for kind in ("csv", "nc")]
    paths = {
        "files": ", ".join([*tables, *(path.name for path in written)]),
        "report": f"{report.name}; its pictures as .png and .svg",
    }
    show_facts(f"written to {folder}", paths)


def show_data_ratios(found: pd.DataFrame) -> None:
    """Print the disparity ratios of the data as they are, a line per protected profile."""
    frame = found.set_index("group").map("{:.4f}".format).rename_axis(_GROUP).reset_index()
    show_frame(f"{_RATIO}; of all people, and of each split", frame)


def show_disparities(study: AdultStudy, sample: str, text: str) -> None:
    """Print the disparity ratios of one sample, a line per protected profile, with their spreads in its digits."""
    if sample in set(study.disparities["sample"]):
        ratios = study.pick(sample).map("{:.3f}".format)
        spreads = study.pick(sample, "standard_error" if sample == "itself" else "deviation")
        shown = ratios + spreads.map(lambda spread: "" if pd.isna(spread) else f"({1000 * spread:.0f})")
        show_frame(f"{_RATIO}; {text}", shown.rename(columns=NAMES).rename_axis(_GROUP).reset_index())


def _above_rounding(miss: float) -> str:
    """Return a miss in words; what is below 1e-15 is rounding, which differs from one machine to the next."""
    return "" if pd.isna(miss) else f"{miss:.1e}" if miss >= 1e-15 else "< 1e-15"


def show_costs(costs: pd.DataFrame) -> None:
    """Print what each projection costs and how well it is solved."""
    columns = {
        "": costs["distribution"].map(NAMES),
        "KL paid": costs["divergence"].map("{:.9f}".format),
        "error train": costs["utility_error_train"].map("{:.2e}".format),
        "error test": costs["utility_error_test"].map("{:.2e}".format),
        "residual": costs["residual"].map(_above_rounding),
        "TV proved": costs["tv_bound"].map(_above_rounding),
        "sweeps": costs["sweeps"].map(lambda sweeps: "" if pd.isna(sweeps) else f"{sweeps:.0f}"),
    }
    show_frame("KL(q || f) and utility error in nats; residual and distance for total mass 1", pd.DataFrame(columns))


def show_decisions(rates: pd.DataFrame) -> None:
    """Print how often each group is decided to earn much by each rule, and how often that is right."""
    shown = rates.map(lambda value: value if isinstance(value, str) else "" if pd.isna(value) else f"{value:.3f}")
    show_frame(f"decisions on the test split: share decided {POSITIVE}, by group", shown)


def as_report(
    study: AdultStudy, numbers: Mapping[str, pd.DataFrame], verdicts: Sequence[Claim], folder: Path
) -> Report:
    """Draw the figures, write them, and return the report that shows them."""
    settings = {
        "lambda": f"{study.strength:g}",
        "generated data sets": f"{study.data_sets} from each distribution, of the size of the train split",
        "seed": str(study.seed),
        "simulated splits are drawn from": DRAWN_FROM[study.drawn_from],
        "test people with an unseen profile": UNSEEN[study.unseen],
        "random forests": ", ".join(f"{name}={value}" for name, value in FOREST.items()),
        "projections": "iterative proportional fitting, to a residual of 1e-10, with a certificate",
    }
    part = Part("Adult, UCI's train and test splits", facts(study), verdicts, list(exhibits(study, numbers, folder)))
    return Report(
        "Income without disparity: the Adult study of arXiv 2309.17347", SUMMARY, [part], settings, list_versions()
    )
