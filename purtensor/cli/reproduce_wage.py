"""`purtensor reproduce wage`: the paper's study of wages, a survey at a time and over the years."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from purtensor._typing import Table
from purtensor.cli.installation import list_versions
from purtensor.cli.output import bar, name_files, show_claims, show_facts, show_table, write_frames
from purtensor.cli.wage_exhibits import ATTRIBUTES, NAMES, UNIT, exhibits
from purtensor.cli.wage_surveys import groups_asked, pool_years, surveys, years_of_stand_in
from purtensor.plots.panels import plot_by_year
from purtensor.plots.save_figure import save_figure
from purtensor.plots.survey import plot_prevalences
from purtensor.projection.files import save
from purtensor.report.page import Exhibit, Part, Report, write_report
from purtensor.studies.claims import claims_frame
from purtensor.studies.population import DRAWN_FROM, UNSEEN, shares_of
from purtensor.studies.wage import REFERENCE, WageStudy, study_wage
from purtensor.studies.wage_claims import by_year, claims, year_claims
from purtensor.studies.wage_numbers import facts, frames, rest_by_size
from purtensor.tables.io.hashes import content_hash
from purtensor.tables.io.table_dataset import table_to_dataset

# at most so many sets are simulated for each single year of the embedded survey, whose study is of both together
SETS_OF_A_YEAR = 200

SUMMARY = (
    "Hourly wages in five ranges are projected onto demographic parity (P), decision utility (U) and social realism "
    "(R): the nearest distribution in which wages do not depend on gender and race. Training and test sets of the "
    "survey's size are drawn from it; every training set is regularized and projected, and the natural "
    "classifiers of f and of the projections predict the wages of the test set's people. Parity concerns means over "
    "groups; see 'What is fair here, and what is not' in the documentation (notes/what_is_fair.md). After 'Demographic "
    "Parity: Mitigating Biases in Real-World Data' (O. Loukas and H. R. Chung, arXiv 2309.17347)."
)


def run(arguments: argparse.Namespace) -> None:
    """Compute the study of every survey, write its files and the report, and print its tables."""
    out = arguments.out / arguments.study
    groups = groups_asked(arguments)
    out.mkdir(parents=True, exist_ok=True)
    parts, studies = [], {}
    for survey, counts, source in surveys(arguments.cps, groups):
        year = survey.removeprefix("CPS ")
        # of the embedded survey there is one study, of a file one for each year
        folder = out if arguments.cps is None else out / year
        folder.mkdir(exist_ok=True)
        study = _study(arguments, counts, survey, folder, arguments.sets)
        parts.append(_report_survey(study, folder, source, where="" if folder == out else f"{year}/"))
        studies[year] = study
    if arguments.cps is None:
        sets = min(arguments.sets, SETS_OF_A_YEAR)
        studies = {
            str(year): _study(arguments, counts, f"CPS {year}", out, sets)
            for year, counts in years_of_stand_in(groups).items()
        }
    if len(studies) > 1:
        numbers = {int(year): study for year, study in studies.items()}
        parts.append(over_the_years(numbers, pool_years(arguments.cps, groups), out))
    settings = {
        "lambda": f"{arguments.strength:g}",
        "simulated sets": f"{arguments.sets:,} a survey",
        "seed": str(arguments.seed),
        "projections": "Newton's method, until the distance to the exact projection is proved to be within 1e-10 in "
        "total variation",
        "simulated sets are drawn from": DRAWN_FROM[arguments.drawn_from],
        "test people with an unseen profile": UNSEEN[arguments.unseen],
        "groups": "; ".join(f"{name}: {asked}" for name, asked in groups.items()) or "the stated defaults",
    }
    report = Report(
        "Wages without the pay gap: the study of arXiv 2309.17347", SUMMARY, parts, settings, list_versions()
    )
    written = write_report(report, out / "report.html", command=arguments.typed)
    show_facts(f"written to {out}", {"report": written.name})


def _study(arguments: argparse.Namespace, counts: Table, survey: str, folder: Path, sets: int) -> WageStudy:
    with bar(f"{survey}: simulated sets", sets) as shown:
        return study_wage(
            counts,
            survey,
            strength=arguments.strength,
            sets=sets,
            seed=arguments.seed,
            drawn_from=arguments.drawn_from,
            unseen=arguments.unseen,
            workers=arguments.workers,
            folder=folder,
            on_member=shown.done,
        )


def _report_survey(study: WageStudy, folder: Path, source: Mapping[str, str], *, where: str) -> Part:
    """Write and print what one survey gave, and return its part of the report."""
    numbers, verdicts = {**frames(study), "rest_by_size": rest_by_size(study)}, claims(study)
    write_frames({**numbers, "claims": claims_frame(verdicts)}, folder)
    for name, projection in study.projections.items():
        save(projection, folder / f"{name}.nc")
    save(study.f, folder / "f.nc")
    hashed = {"SHA-256 of the counts": content_hash(table_to_dataset(study.counts))}
    of_survey = {**source, **hashed, **facts(study)}
    show_facts(study.survey, of_survey)
    show_disparities(numbers["disparities"])
    show_certificates(numbers["certificates"])
    show_claims(verdicts)
    return Part(study.survey, of_survey, verdicts, list(exhibits(study, numbers, folder)), where)


def show_disparities(disparities: pd.DataFrame) -> None:
    """Print the attributable disparity of the highest wage range, a line per protected profile."""
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
        (
            NAMES[row["projection"]],
            str(row["solved"]),
            str(row["infeasible, proved"]),
            str(row["not converged"]),
            f"{row['largest miss of a marginal']:.1e}",
            f"{row['largest TV bound']:.1e}",
        )
        for _, row in certificates.iterrows()
    ]
    show_table(
        "projections of simulated sets; miss and proved distance for total mass 1",
        ("", "solved", "infeasible, proved", "not converged", "largest miss", "TV proved"),
        rows,
    )


PANELS = {
    "disparity": "mean disparity of the data",
    "fluctuation": "deviation of PUR's predictions",
}


def over_the_years(studies: Mapping[int, WageStudy], together: Table, folder: Path) -> Part:
    """Write and print the results over all years, and return their part of the report."""
    numbers, shares = by_year(studies), shares_of(together)
    verdicts = year_claims(numbers)
    write_frames(
        {"by_year": numbers, "prevalences_all_years": shares, "claims_over_the_years": claims_frame(verdicts)}, folder
    )
    years = ", ".join(map(str, sorted(studies)))
    title = f"Who is in the surveys? {years}"
    axes = plot_prevalences(shares, names=ATTRIBUTES, title=title)
    people, _ = save_figure(axes, folder / "prevalences_all_years", title=title)
    title = "Disparity, and the fluctuation of predictions"
    axes = plot_by_year(numbers, PANELS, title=title, error="one standard error")
    trend, _ = save_figure(axes, folder / "by_year", title=title)
    exhibits = [
        Exhibit(
            "Prevalences of all years together",
            "The share of people in each category, in all years together.",
            "cumulative prevalence of response and predictors",
            people,
            numbers=name_files("prevalences_all_years"),
        ),
        Exhibit(
            "Year by year",
            "Disparity is the mean absolute difference between the share of a group in a wage range and that of white "
            "men; its error is the standard deviation over the training sets. Fluctuation is the mean standard "
            "deviation, over the simulated sets, of the predictions of PUR for the test set; it decreases with the "
            "number of people in the survey. Removed is the share of the disparity predicted by f that PUR removes; "
            "left by chance is the share that so many sets leave if all is removed.",
            figure=trend,
            table=numbers,
            numbers=name_files("by_year"),
        ),
    ]
    facts = {
        "years": years,
        "people": f"{float(together.sum()):,.0f}",
        "simulated sets": ", ".join(f"{study.sets:,} in {year}" for year, study in sorted(studies.items())),
    }
    show_facts("over the years", facts)
    show_claims(verdicts)
    return Part("Over the years", facts, verdicts, exhibits)
