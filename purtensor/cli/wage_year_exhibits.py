"""What `purtensor reproduce wage` shows of several years together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from purtensor._typing import Table
from purtensor.cli.output import both, show_claims, show_facts, write_frame
from purtensor.cli.wage_exhibits import ATTRIBUTES
from purtensor.plots.panels import plot_by_year
from purtensor.plots.save_figure import save_figure
from purtensor.plots.survey import plot_prevalences
from purtensor.report.page import Exhibit, Part
from purtensor.studies.claims import claims_frame
from purtensor.studies.population import shares_of
from purtensor.studies.wage import WageStudy
from purtensor.studies.wage_claims import by_year, year_claims

PANELS = {
    "disparity": "mean disparity of the data",
    "fluctuation": "deviation of PUR's predictions",
}


def over_the_years(studies: Mapping[int, WageStudy], together: Table, folder: Path) -> Part:
    """Write and print the results over all years, and return their part of the report."""
    numbers, shares = by_year(studies), shares_of(together)
    verdicts = year_claims(numbers)
    told = {"by_year": numbers, "prevalences_all_years": shares, "claims_over_the_years": claims_frame(verdicts)}
    for name, frame in told.items():
        for kind in ("csv", "parquet"):
            write_frame(frame, folder / f"{name}.{kind}")
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
            numbers=both("prevalences_all_years"),
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
            numbers=both("by_year"),
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
