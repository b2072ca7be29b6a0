"""`purtensor reproduce adult`: the paper's study of the Adult data, as tables, files, pictures and a report."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from purtensor.cli.info import versions
from purtensor.cli.output import both, show_claims, show_facts, show_table, write_frame
from purtensor.cli.progress import bar
from purtensor.plots.disparity import plot_disparity_ratios
from purtensor.plots.prevalence import plot_prevalences
from purtensor.plots.save_figure import save_figure
from purtensor.projection.files import save
from purtensor.report.page import Exhibit, Part, Report, write_report
from purtensor.studies.adult import study_adult
from purtensor.studies.adult_claims import claims
from purtensor.studies.adult_decisions import decision_rates
from purtensor.studies.adult_numbers import by_unseen_rule, costs, disparities, prevalences
from purtensor.studies.adult_question import DATA, POSITIVE, PROTECTED, REFERENCE
from purtensor.studies.adult_study import DISTRIBUTIONS, DRAWN, AdultStudy, Disparity
from purtensor.studies.claims import Claim
from purtensor.studies.forests import FOREST
from purtensor.studies.members import failed_members
from purtensor.studies.population import DRAWN_FROM, UNSEEN
from purtensor.tables.coded import encode

NAMES = {"f": "data, f", "P": "P", "PU": "P + U", "PUR": "P + U + R", "MaxEnt": "MaxEnt-PUR"}
SAMPLES = {
    "itself": "in the distribution itself (standard error in its digits)",
    "train": "predicted by the natural classifier, train split",
    "test": "predicted by the natural classifier, test split",
    "synthetic": "in data drawn from it, mean(deviation in its digits)",
    "forest": "predicted by forests trained on such data, test split",
}
PICTURES = {
    "test": (
        "disparities",
        "Who is predicted to earn more than 50K? Adult, test split",
        "Predicted by the natural classifiers of f and of its projections for the people of the test split.",
        "",
    ),
    "synthetic": (
        "synthetic",
        "Who earns more than 50K in generated data?",
        "Data sets of the size of the train split, drawn from f and from its projections.",
        "control experiment: disparity ratio of the generated data",
    ),
    "forest": (
        "forests",
        "Whom do random forests trained on generated data predict to earn more?",
        "The mean probability that the forests give to the people of the test split.",
        "disparity ratio of random forests",
    ),
}
"""For each sample the file's name, the heading, what is shown, and what it is in the paper."""

ATTRIBUTES = {"age_group": "age group"}
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
        written = write_files(study, folder)
    verdicts = claims(study)
    show_facts("Adult, UCI's train split, the paper's sample", facts(study))
    for sample, text in SAMPLES.items():
        show_disparities(study, sample, text)
    show_costs(study)
    show_decisions(decision_rates(study))
    show_claims(verdicts)
    report = write_report(as_report(study, verdicts, folder), folder / "report.html")
    told = {
        "files": ", ".join(path.name for path in written),
        "report": f"{report.name}; its pictures as .png and .svg",
    }
    show_facts(f"written to {folder}", told)


def facts(study: AdultStudy) -> dict[str, str]:
    """Return what was computed from what."""
    coded = encode(study.distributions["f"])
    return {
        "persons": f"{float(study.train.sum()):,.0f} train, {float(study.test.sum()):,.0f} test",
        "profiles": f"{len(coded.values)} supported of {coded.domain.size}",
        "lambda": f"{study.strength:g}, washed out {washed_out(study):.3g} (lambda * profiles / N)",
        "unseen": f"{study.unseen_mass:.2e} of the test mass, on predictor profiles that train never saw: "
        f"{UNSEEN[study.unseen]}",
        "source": "UCI Adult (data set 2, CC BY 4.0), embedded; rows with a known workclass",
        **failed_members(study.failures),
        "SHA-256 of counts and settings": study.identity,
    }


def washed_out(study: AdultStudy) -> float:
    """Return the pseudo-counts over the counts, lambda * profiles / N."""
    return float(study.distributions[DATA].attrs["washed_out_share"])


def show_disparities(study: AdultStudy, sample: str, text: str) -> None:
    """Print the disparity ratios of one sample, a line a protected profile."""
    found = {(d.group, d.distribution): d for d in study.disparities if d.sample == sample}
    groups = list(dict.fromkeys(group for group, _ in found))
    rows = [(group, *(_ratio(found[group, name]) for name in DISTRIBUTIONS)) for group in groups]
    title = f"{POSITIVE}: ratio to {', '.join(REFERENCE.values())}; {text}"
    if rows:
        show_table(title, (", ".join(PROTECTED), *(NAMES[name] for name in DISTRIBUTIONS)), rows)


def _ratio(disparity: Disparity) -> str:
    told = f"{disparity.ratio:.3f}"
    spread = disparity.standard_error if disparity.sample == "itself" else disparity.deviation
    return told if spread is None else f"{told}({1000 * spread:.0f})"


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


def show_decisions(rates: pd.DataFrame) -> None:
    """Print how often each group is decided to earn much by each rule, and how often that is right."""
    rows = [
        tuple(value if isinstance(value, str) else "" if value != value else f"{value:.3f}" for value in row)
        for row in rates.itertuples(index=False, name=None)
    ]
    show_table(f"decisions on the test split: share decided {POSITIVE}, by group", tuple(rates.columns), rows)


def write_files(study: AdultStudy, folder: Path) -> list[Path]:
    """Write the distributions and the numbers, and return the paths."""
    written = []
    for name, table in study.distributions.items():
        written += [folder / f"{name}.csv", folder / f"{name}.nc"]
        save(table, written[-2])
        save(study.projections.get(name, table), written[-1])
    frames = {"disparities": disparities(study), "costs": costs(study), "prevalences": prevalences(study)}
    frames |= {"decisions": decision_rates(study), "by_unseen_rule": by_unseen_rule(study)}
    for name, frame in frames.items():
        for kind in ("csv", "parquet"):
            written.append(folder / f"{name}.{kind}")
            write_frame(frame, written[-1])
    return written


def as_report(study: AdultStudy, verdicts: Sequence[Claim], folder: Path) -> Report:
    """Draw the figures, write them, and return the report that shows them."""
    settings = {
        "lambda": f"{study.strength:g}",
        "generated data sets": f"{study.data_sets} from each distribution, of the size of the train split",
        "seed": str(study.seed),
        "simulated splits are drawn from": DRAWN_FROM[study.drawn_from],
        "test people of a profile that was not trained on": UNSEEN[study.unseen],
        "random forests": ", ".join(f"{name}={value}" for name, value in FOREST.items()),
        "projections": "iterative proportional fitting, to a residual of 1e-10, with a certificate",
    }
    part = Part("Adult, UCI's train and test splits", facts(study), verdicts, list(exhibits(study, folder)))
    return Report(
        "Income without disparity: the Adult study of arXiv 2309.17347", SUMMARY, [part], settings, versions()
    )


def exhibits(study: AdultStudy, folder: Path) -> Iterator[Exhibit]:
    """Draw and write every figure, and yield it for the report."""
    axes = plot_prevalences(prevalences(study), names=ATTRIBUTES, title="Who is in the Adult data? Train split")
    vector, _ = save_figure(axes, folder / "prevalences", title="Adult: prevalences")
    yield Exhibit(
        "Prevalences",
        "The share of people in each category of the train split.",
        "prevalence of the predictors and of the response",
        vector,
        numbers=both("prevalences"),
    )
    for sample, (name, title, text, paper) in PICTURES.items():
        if any(d.sample == sample for d in study.disparities):
            vector, _ = save_figure(picture(study, sample, title), folder / name, title=title)
            yield Exhibit(title, text, paper, vector, numbers=both("disparities"))
    yield Exhibit(
        "Standard errors",
        "What the ratios would vary by if other people had been asked, by the delta method: in each distribution "
        "itself, exactly 0 where parity is stated; and predicted on the test split, where both splits vary. Beside it "
        "the standard deviation over simulated splits.",
        table=with_errors(study),
        numbers=both("disparities"),
    )
    yield Exhibit(
        "People of a profile that was not trained on",
        "One person of the test split has a predictor profile that the train split has not. The paper leaves such "
        "people out; here they are predicted by q(y), which keeps parity, unless --unseen drop is given. Both rules:",
        table=by_unseen_rule(study),
        numbers=both("by_unseen_rule"),
    )
    yield Exhibit(
        "Decisions",
        f"The share of each group that is decided to earn {POSITIVE} on the test split, on average where decisions are "
        "drawn, and how often decisions are right. The likeliest class of fair probabilities is not fair; draws, and "
        "the least-loss decisions at one rate for all groups, are. Accuracy is agreement with what was observed, "
        "disparity included.",
        table=decision_rates(study),
        numbers=both("decisions"),
    )
    yield Exhibit(
        "Costs and certificates",
        "Divergence from f and utility errors in nats; residual and proved distance (TV) for total mass 1.",
        table=costs(study),
        numbers=both("costs"),
    )


def with_errors(study: AdultStudy) -> pd.DataFrame:
    """Return the ratios in each distribution and on the test split, a line a group, each with its standard error."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for d in study.disparities:
        if d.sample in ("itself", "test"):
            row = rows.setdefault((d.distribution, d.group), {"distribution": NAMES[d.distribution], "group": d.group})
            # beyond nine digits there is what the solver leaves, and no error of sampling
            error = float("nan") if d.standard_error is None else round(d.standard_error, 9)
            row |= {f"ratio, {d.sample}": d.ratio, f"standard error, {d.sample}": error}
            if d.sample == "test" and d.distribution in study.noise:
                row["over simulated splits"] = study.noise[d.distribution][study.groups.index((d.gender, d.race))]
    return pd.DataFrame(rows.values())


def picture(study: AdultStudy, sample: str, title: str) -> Axes:
    """Return the picture of the disparity ratios in one sample."""
    found = [d for d in study.disparities if d.sample == sample]
    ratios, deviations = (
        pd.DataFrame(
            {name: {d.group: getattr(d, value) for d in found if d.distribution == name} for name in DISTRIBUTIONS}
        )
        for value in ("ratio", "deviation" if sample in DRAWN else "standard_error")
    )
    has_bars = bool(deviations.notna().to_numpy().any())
    order = ratios["f"].sort_values(ascending=False).index
    compared = f"P({POSITIVE} | group) / P({POSITIVE} | {', '.join(REFERENCE.values())})"
    if sample in DRAWN:
        compared += f"; bars: one standard deviation over {study.data_sets} data sets"
    elif has_bars:
        compared += "; bars: one standard error"
    return plot_disparity_ratios(
        ratios.loc[order],
        deviations=deviations.loc[order] if has_bars else None,
        names=NAMES,
        title=title,
        compared=compared,
    )
