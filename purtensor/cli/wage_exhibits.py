"""What the report of `purtensor reproduce wage` shows of a survey: its figures, and two tables or three."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

from purtensor.cli.output import name_files
from purtensor.plots.save_figure import save_figure
from purtensor.plots.survey import plot_boxes, plot_by_response, plot_prevalences
from purtensor.report.page import Exhibit
from purtensor.studies.population import UNSEEN
from purtensor.studies.wage import REFERENCE, WageStudy
from purtensor.studies.wage_numbers import response_shares

UNIT = "$/h"
NAMES = {
    "train": "training data",
    "f": "f (no condition)",
    "P": "P",
    "PU": "PU",
    "PUR": "PUR",
    "MaxEnt": "MaxEnt-PUR",
}
ATTRIBUTES = {
    "wage_range": f"wage range ({UNIT})",
    "race4": "race",
    "age_group": "age group",
    "education_group": "education",
}
_DIFFERENCE = f"p(y | s) \u2212 p(y | {', '.join(REFERENCE.values())})"


def exhibits(study: WageStudy, numbers: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[Exhibit]:
    """Draw every figure of one survey, write it, and yield it for the report."""
    figures = _Figures(study, numbers, folder)
    yield from figures.of_the_survey()
    yield from figures.of_test_data()
    yield from figures.of_generated_data()
    yield from _tables(study, numbers)


@dataclass(frozen=True, slots=True)
class _Figures:
    """The figures of one survey, and the folder that they go to."""

    study: WageStudy
    numbers: Mapping[str, pd.DataFrame]
    folder: Path

    def of_the_survey(self) -> Iterator[Exhibit]:
        title = f"Who is in the survey? {self._people()}"
        yield self._draw(
            "prevalences",
            plot_prevalences(self.numbers["prevalences"], names=ATTRIBUTES, title=title),
            "Prevalences",
            "The share of people in each category of the response, the protected and the unprotected attributes.",
            "prevalence of response and predictors",
        )
        title = "Wages given gender and race: the data f, and their PUR projection"
        own = self.numbers["conditionals"].query("model in ('f', 'PUR')").rename(columns={"probability": "value"})
        yield self._draw(
            "conditionals",
            self._against_shares(own, title, scale="p(y | s)"),
            title,
            "In the projection every group has the wage distribution of the whole population, f(y).",
            "f(y|s) with q(y|s)",
        )
        title = "Attributable disparity in the data"
        marks = self.numbers["own_disparities"].rename(columns={"disparity": "value", "standard_error": "deviation"})
        marks = marks[marks["model"] == "f"]  # in projections it is 0 by construction, which a sentence says
        yield self._draw(
            "own_disparities",
            self._against_parity(marks, title, "one standard error (delta method)"),
            title,
            "With standard errors for the sampling of people. In the projections the disparities and their standard "
            "errors are 0, because parity is a constraint.",
            "",
        )

    def of_test_data(self) -> Iterator[Exhibit]:
        title = "Attributable disparity on test data"
        marks = self.numbers["disparities"].rename(columns={"mean": "value"})
        yield self._draw(
            "disparities",
            self._against_parity(marks, title, self._deviation("simulated")),
            title,
            "As predicted by the natural classifiers of f and of its projections, and in the training data themselves.",
            "attributable disparity for train, P, PU, PUR",
        )
        title = "Natural prediction of PUR on test data"
        marks = self.numbers["natural_predictions"].query("model == 'PUR'").rename(columns={"mean": "value"})
        drawn = self._against_shares(marks, title, "predicted p(y | s)", self._deviation("simulated"))
        yield self._draw(
            "natural_predictions",
            drawn,
            title,
            "The mean prediction for each group, compared with the share of the wage range in the data.",
            "p_pred(y|s) against f(y)",
        )

    def of_generated_data(self) -> Iterator[Exhibit]:
        title = "Attributable disparity of generated data"
        marks = self.numbers["generated"].rename(columns={"mean": "value"})
        yield self._draw(
            "generated",
            self._against_parity(marks, title, self._deviation("generated")),
            title,
            "Data sets of the survey's size, drawn from f and from its projections.",
            "control experiment",
        )
        title = "Utility-based generalisation error"
        boxes = self.numbers["utility_errors"].rename(columns={"nats": "value"})
        scale = "KL(test data || prediction) of the marginals over wage range and unprotected (nats)"
        yield self._draw(
            "utility_errors",
            plot_boxes(boxes, names=NAMES, title=f"{title}; {self.study.survey}", scale=scale),
            title,
            "The divergence of the predicted distribution of wages and unprotected attributes from that of the "
            "test data.",
            "box plots of the utility-based generalisation error",
        )

    def _draw(self, name: str, axes: Axes, title: str, text: str, paper: str) -> Exhibit:
        vector, _ = save_figure(axes, self.folder / name, title=f"{title}; {self._people()}")
        return Exhibit(title, text, paper, vector, numbers=name_files(name))

    def _against_parity(self, marks: pd.DataFrame, title: str, deviation: str) -> Axes:
        parity = dict.fromkeys(self.study.population.response_categories, 0.0)
        return plot_by_response(
            marks,
            lines=parity,
            line_label="parity",
            names=NAMES,
            title=f"{title}; {self.study.survey}",
            unit=UNIT,
            scale=_DIFFERENCE,
            deviation_label=deviation,
        )

    def _against_shares(self, marks: pd.DataFrame, title: str, scale: str, deviation: str = "") -> Axes:
        shares = zip(self.study.population.response_categories, response_shares(self.study), strict=True)
        return plot_by_response(
            marks,
            lines=dict(shares),
            line_label="f(y)",
            names=NAMES,
            title=f"{title}; {self.study.survey}",
            unit=UNIT,
            scale=scale,
            deviation_label=deviation,
            shared_scale=False,
        )

    def _people(self) -> str:
        return f"{self.study.survey}, {float(self.study.counts.sum()):,.0f} people"

    def _deviation(self, what: str) -> str:
        return f"one standard deviation over {self.study.sets:,} {what} sets"


def _tables(study: WageStudy, numbers: Mapping[str, pd.DataFrame]) -> Iterator[Exhibit]:
    yield Exhibit(
        "Certificates",
        "Projections of the simulated training sets. Infeasible sets and sets that did not converge are left out of "
        "all figures above.",
        table=numbers["certificates"],
        numbers=name_files("certificates"),
    )
    yield Exhibit(
        "What is left on test data, by sample size",
        "PUR has exact parity for the people that it was fitted on. For other people there is a systematic deviation, "
        "which is visible only in the mean over many sets: the predicted conditionals are ratios of small counts, and "
        "the mean of a ratio is not the ratio of the means. It decreases with the size of the sets until only chance "
        "is left, where the root mean square of the deviations in standard errors (rms z) is near 1. The largest rest "
        "is the largest significant deviation; unseen is the share of test people whose profile is not in the "
        "training set.",
        table=numbers["rest_by_size"],
        numbers=name_files("rest_by_size"),
    )
    yield Exhibit(
        "People with an unseen profile",
        "Some test people have a predictor profile that does not occur in the training set. They are predicted by "
        "q(y), which keeps parity, or left out, as the paper does on Adult. The table has both rules on the same "
        "sets: the mean absolute disparity, its significance (rms z, near 1 for chance alone), and the mean utility "
        "error in nats.",
        table=numbers["by_unseen_rule"].replace({"model": NAMES, "rule": dict(UNSEEN)}),
        numbers=name_files("by_unseen_rule"),
    )
    if len(numbers["left_out"]):
        yield Exhibit(
            "Sets that were left out",
            "Simulated sets whose projection was not found, with what is proved about their conditions.",
            table=numbers["left_out"],
            numbers=name_files("left_out"),
        )
    yield Exhibit(
        "Projections of the survey itself",
        "Divergence from the reference in nats (f, or the uniform distribution for MaxEnt-PUR); residual and proved "
        "bound on the distance to the exact projection, both for total mass 1.",
        table=_own_evidence(study),
    )


def _own_evidence(study: WageStudy) -> pd.DataFrame:
    """Return how the projections of the survey itself were solved."""
    return pd.DataFrame(
        [
            (NAMES[name], q.divergence, q.residual, q.tv_bound, q.iterations, q.termination.value)
            for name, q in study.projections.items()
        ],
        columns=["projection", "KL(q || reference)", "residual", "TV bound", "iterations", "ending"],
    )
