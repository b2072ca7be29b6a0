"""`purtensor reproduce wage`: the paper's study of wages, a survey at a time, as tables, files, pictures, a report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from purtensor.cli.info import versions
from purtensor.cli.output import both, show_claims, show_facts, show_table
from purtensor.cli.progress import bar
from purtensor.cli.wage_surveys import binning, surveys
from purtensor.experiments.wage import REFERENCE, WageStudy, study_wage
from purtensor.experiments.wage_numbers import claims, facts, frames, response_shares
from purtensor.plots.boxes import plot_boxes
from purtensor.plots.by_response import plot_by_response
from purtensor.plots.figures import save_figure
from purtensor.plots.prevalence import plot_prevalences
from purtensor.projection.files import save
from purtensor.report.page import Exhibit, Part, Report, write_report
from purtensor.tables.content_hash import content_hash
from purtensor.tables.table_dataset import table_to_dataset

UNIT = "$/h"
NAMES = {"train": "training data", "f": "f (no condition)", "P": "P", "PU": "P + U", "PUR": "P + U + R",
         "MaxEnt": "MaxEnt-PUR"}  # fmt: skip
ATTRIBUTES = {"wage_range": f"wage range ({UNIT})", "race4": "race", "age_group": "age group",
              "education_group": "education"}  # fmt: skip
SUMMARY = (
    "Hourly wages in five ranges are projected onto demographic parity (P), decision utility (U) and social realism "
    "(R): the nearest distribution in which wages do not depend on gender and race. Training and test sets of the "
    "survey's size are drawn from its regularized distribution f; every training set is projected, and the natural "
    "classifiers of f and of the projections predict the wages of the test set's people. After 'Demographic Parity: "
    "Mitigating Biases in Real-World Data' (O. Loukas and H. R. Chung, arXiv 2309.17347)."
)


def run(arguments: argparse.Namespace) -> None:
    """Compute the study of every survey, write its files and the report, and print its tables."""
    out = arguments.out / arguments.study
    groups = binning(arguments)
    out.mkdir(parents=True, exist_ok=True)
    parts = []
    for survey, counts, source in surveys(arguments.cps, groups):
        folder = out if arguments.cps is None else out / survey.removeprefix("CPS ")
        folder.mkdir(exist_ok=True)
        with bar(f"{survey}: simulated sets", arguments.sets) as shown:
            study = study_wage(
                counts, survey, strength=arguments.strength, sets=arguments.sets, seed=arguments.seed,
                workers=arguments.workers, folder=folder, on_member=shown.done,
            )  # fmt: skip
        parts.append(_told(study, folder, source))
    settings = {
        "lambda": f"{arguments.strength:g}",
        "simulated sets": f"{arguments.sets:,} a survey",
        "seed": str(arguments.seed),
        "projections": "Newton's method, until the distance to the exact projection is proved to be within 1e-10 in "
        "total variation",
        "test profiles that training never saw": "predicted by q(y)",
        "groups": "; ".join(f"{name}: {asked}" for name, asked in groups.items()) or "the stated defaults",
    }
    report = Report("Wages without the pay gap: the study of arXiv 2309.17347", SUMMARY, parts, settings, versions())
    show_facts(f"written to {out}", {"report": write_report(report, out / "report.html").name})


def _told(study: WageStudy, folder: Path, source: Mapping[str, str]) -> Part:
    """Write and print what one survey gave, and return its part of the report."""
    numbers, verdicts = frames(study), claims(study)
    for name, frame in numbers.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    for name, projection in study.projections.items():
        save(projection, folder / f"{name}.nc")
    save(study.f, folder / "f.nc")
    hashed = {"SHA-256 of the counts": content_hash(table_to_dataset(study.counts))}
    told = {**source, **hashed, **facts(study)}
    show_facts(study.survey, told)
    show_disparities(numbers["disparities"])
    show_certificates(numbers["certificates"])
    show_claims(verdicts)
    return Part(study.survey, told, verdicts, list(exhibits(study, numbers, folder)))


def show_disparities(disparities: pd.DataFrame) -> None:
    """Print the attributable disparity of the highest wage range, a line a protected profile."""
    response = disparities["response"].iloc[-1]
    here = disparities[disparities["response"] == response]
    models = list(dict.fromkeys(here["model"]))
    rows = [
        (str(group), *(f"{row.mean_:+.3f} ± {row.deviation:.3f}" for row in lines.itertuples()))
        for group, lines in here.rename(columns={"mean": "mean_"}).groupby("group", sort=False)
    ]
    reference = ", ".join(REFERENCE.values())
    title = f"p({response} {UNIT} | s) - p({response} {UNIT} | {reference}), on test sets: mean ± deviation"
    show_table(title, ("gender, race", *(NAMES[model] for model in models)), rows)


def show_certificates(certificates: pd.DataFrame) -> None:
    """Print how well the projections are solved."""
    rows = [
        (NAMES[row["projection"]], str(row["solved"]), str(row["infeasible, proved"]), str(row["not converged"]),
         f"{row['largest miss of a marginal']:.1e}", f"{row['largest TV bound']:.1e}")
        for _, row in certificates.iterrows()
    ]  # fmt: skip
    show_table("projections of simulated sets; miss and proved distance for total mass 1",
               ("", "solved", "infeasible, proved", "not converged", "largest miss", "TV proved"), rows)  # fmt: skip


def exhibits(study: WageStudy, numbers: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[Exhibit]:
    """Draw every figure of one survey, write it, and yield it for the report."""
    responses = study.population.response_categories
    parity, shares = dict.fromkeys(responses, 0.0), dict(zip(responses, response_shares(study), strict=True))
    people = f"{study.survey}, {float(study.counts.sum()):,.0f} people"
    deviation = f"one standard deviation over {study.sets:,} simulated sets"
    difference = f"p(y | s) \u2212 p(y | {', '.join(REFERENCE.values())})"

    def drawn(name: str, axes: Axes, title: str, text: str, paper: str) -> Exhibit:
        vector, _ = save_figure(axes, folder / name, title=f"{title}; {people}")
        return Exhibit(title, text, paper, vector, numbers=both(name))

    title = f"Who is in the survey? {people}"
    yield drawn(
        "prevalences", plot_prevalences(numbers["prevalences"], names=ATTRIBUTES, title=title), "Prevalences",
        "The share of people in each category of the response, the protected and the unprotected attributes.",
        "prevalence of response and predictors",
    )  # fmt: skip
    title = "Wages given gender and race: the data f, and their PUR projection"
    own = numbers["conditionals"].query("model in ('f', 'PUR')").rename(columns={"probability": "value"})
    yield drawn(
        "conditionals",
        plot_by_response(own, lines=shares, line_label="f(y)", names=NAMES, title=f"{title}; {study.survey}", unit=UNIT,
                         scale="p(y | s)", shared_scale=False),
        title, "In the projection everyone has the wages of the whole population, f(y).", "f(y|s) with q(y|s)",
    )  # fmt: skip
    title = "Attributable disparity in the data and in their projections"
    marks = numbers["own_disparities"].rename(columns={"disparity": "value", "standard_error": "deviation"})
    yield drawn(
        "own_disparities",
        plot_by_response(marks, lines=parity, line_label="parity", names=NAMES, title=f"{title}; {study.survey}",
                         unit=UNIT, scale=difference, deviation_label="one standard error (delta method)"),
        title, "What the disparities would vary by if other people had been asked; exactly 0 where parity is stated.",
        "",
    )  # fmt: skip
    title = "Attributable disparity on test data"
    marks = numbers["disparities"].rename(columns={"mean": "value"})
    yield drawn(
        "disparities",
        plot_by_response(marks, lines=parity, line_label="parity", names=NAMES, title=f"{title}; {study.survey}",
                         unit=UNIT, scale=difference, deviation_label=deviation),
        title, "Predicted by the natural classifiers of the training data and of their projections; beside them the "
        "training data themselves.", "attributable disparity for train, P, PU, PUR",
    )  # fmt: skip
    title = "Natural prediction of PUR on test data"
    marks = numbers["natural_predictions"].query("model == 'PUR'").rename(columns={"mean": "value"})
    yield drawn(
        "natural_predictions",
        plot_by_response(marks, lines=shares, line_label="f(y)", names=NAMES, title=f"{title}; {study.survey}",
                         unit=UNIT, scale="predicted p(y | s)", deviation_label=deviation, shared_scale=False),
        title, "Mean prediction for each group against the share of the wage range in the data.",
        "p_pred(y|s) against f(y)",
    )  # fmt: skip
    title = "Attributable disparity of generated data"
    marks = numbers["generated"].rename(columns={"mean": "value"})
    yield drawn(
        "generated",
        plot_by_response(marks, lines=parity, line_label="parity", names=NAMES, title=f"{title}; {study.survey}",
                         unit=UNIT, scale=difference, deviation_label=deviation.replace("simulated", "generated")),
        title, "Data sets of the survey's size, drawn from f and from its projections.", "control experiment",
    )  # fmt: skip
    title = "Utility-based generalisation error"
    boxes = numbers["utility_errors"].rename(columns={"nats": "value"})
    yield drawn(
        "utility_errors",
        plot_boxes(boxes, names=NAMES, title=f"{title}; {study.survey}",
                   scale="KL(test data || prediction) of the marginals over wage range and unprotected (nats)"),
        title, "How far the predicted relation of wages to unprotected attributes is from that of the test data.",
        "box plots of the utility-based generalisation error",
    )  # fmt: skip
    yield Exhibit(
        "Certificates", "Projections of the simulated training sets. Those that are infeasible or did not converge are "
        "left out of all figures above.", table=numbers["certificates"], numbers=both("certificates"),
    )  # fmt: skip
    if len(numbers["left_out"]):
        yield Exhibit("Sets that were left out", "Projections of simulated sets without an answer, with what is proved "
                      "of their conditions.", table=numbers["left_out"], numbers=both("left_out"))  # fmt: skip
    yield Exhibit("Projections of the survey itself", "Divergence from f in nats; residual and proved distance for "
                  "total mass 1.", table=own_evidence(study))  # fmt: skip


def own_evidence(study: WageStudy) -> pd.DataFrame:
    """Return how the projections of the survey itself were solved."""
    return pd.DataFrame(
        [
            (NAMES[name], q.divergence, q.residual, q.tv_bound, q.iterations, q.termination.value)
            for name, q in study.projections.items()
        ],
        columns=["projection", "KL(q || reference)", "residual", "TV bound", "iterations", "ending"],
    )
