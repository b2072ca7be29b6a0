"""What the report of `purtensor reproduce adult` shows: its figures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes

import purtensor as pt
from purtensor.cli.output import name_files
from purtensor.plots.save_figure import save_figure
from purtensor.report.page import Exhibit
from purtensor.studies.adult_study import DRAWN, POSITIVE, REFERENCE, AdultStudy

NAMES = {"f": "data, f", "P": "P", "PU": "PU", "PUR": "PUR", "MaxEnt": "MaxEnt-PUR"}
# for each sample the file's name, the heading, what is shown, and what it is in the paper
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
        "More than 50K, by random forests trained on generated data",
        "The mean probability that the forests predict for the people of the test split.",
        "disparity ratio of random forests",
    ),
}

ATTRIBUTES = {"age_group": "age group"}


# for each table without a picture its heading, and what is shown
TABLES = {
    "data_ratios": (
        "Disparity ratios of the data",
        f"P({POSITIVE} | group) / P({POSITIVE} | {', '.join(REFERENCE.values())}) of all people and of the two splits, "
        "from the counts. The paper gives the ratios for all people; everything here is fitted on the train split.",
    ),
    "by_unseen_rule": (
        "People with an unseen profile",
        "One person in the test split has a predictor profile that does not occur in the train split. The paper "
        "leaves such people out; here they are predicted by q(y), which keeps parity, unless --unseen drop is given. "
        "The table has the ratios under both rules.",
    ),
    "decisions": (
        "Decisions",
        f"The rate of the decision {POSITIVE} in each group of the test split (the mean, if decisions are drawn), and "
        "the share of correct decisions. The most likely class under fair probabilities is not fair; random draws "
        "are, and so are the most accurate decisions with the same rate for all groups. Accuracy is agreement with "
        "the observed incomes, which include the disparity. Parity concerns the mean over a group: two people who "
        "differ only in gender and race get different probabilities; this is intended. There is no guarantee for "
        "subgroups, for attributes that were not named, or for privacy. See 'What is fair here, and what is not' in "
        "the documentation (notes/what_is_fair.md).",
    ),
    "costs": (
        "Costs and certificates",
        "Divergence from f and utility errors in nats; residual and proved bound on the distance to the exact "
        "projection (total variation), both for total mass 1.",
    ),
}
COLUMNS = {
    "divergence": "KL paid",
    "utility_error_train": "utility error, train",
    "utility_error_test": "utility error, test",
    "tv_bound": "TV proved",
}


def exhibits(study: AdultStudy, numbers: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[Exhibit]:
    """Draw and write every figure, and yield it for the report, then the tables."""
    title = "Who is in the Adult data? 46,043 people"
    axes = pt.plots.plot_prevalences(numbers["prevalences"], names=ATTRIBUTES, title=title)
    vector, _ = save_figure(axes, folder / "prevalences", title="Adult: prevalences")
    yield Exhibit(
        "Prevalences",
        "The share of people in each category, in both splits together. The files of numbers also have each split.",
        "prevalence of the predictors and of the response",
        vector,
        numbers=name_files("prevalences"),
    )
    for sample, (name, heading, text, paper) in PICTURES.items():
        if sample in set(study.disparities["sample"]):
            vector, _ = save_figure(picture(study, sample, heading), folder / name, title=heading)
            yield Exhibit(heading, text, paper, vector, numbers=name_files("disparities"))
    yield Exhibit(
        "Standard errors",
        "Standard errors of the ratios by the delta method: in each distribution itself, where they are 0 if parity is "
        "a constraint, and as predicted for the test split, where the sampling of both splits contributes. For "
        f"comparison, the standard deviation over {study.data_sets} bootstrap draws of both splits, each projected and "
        "predicted anew, and over as many simulated splits; no splits are simulated for MaxEnt-PUR.",
        table=with_errors(study),
        numbers=name_files("disparities"),
    )
    for name, (heading, text) in TABLES.items():
        table = numbers[name].replace({"distribution": NAMES}).rename(columns=COLUMNS)
        yield Exhibit(heading, text, table=table, numbers=name_files(name))


def with_errors(study: AdultStudy) -> pd.DataFrame:
    """Return the ratios in each distribution and on the test split, a line per group, each with its standard error."""
    # beyond nine digits there is what the solver leaves, and no error of sampling
    numbers = {
        f"{number}, {sample}": study.pick(sample, column).round(digits).T.stack()
        for sample in ("itself", "test")
        for number, column, digits in (("ratio", "ratio", 17), ("standard error", "standard_error", 9))
    }
    for name, known in (("bootstrap", study.bootstrap), ("simulated splits", study.noise)):
        if known:
            groups = study.pick("test").index
            numbers[name] = pd.DataFrame(known, index=groups).rename_axis(columns="distribution").T.stack()
    return pd.DataFrame(numbers).reindex(numbers["ratio, test"].index).reset_index().replace({"distribution": NAMES})


def picture(study: AdultStudy, sample: str, title: str) -> Axes:
    """Return the picture of the disparity ratios in one sample."""
    ratios = study.pick(sample).sort_values("f", ascending=False)
    deviations = study.pick(sample, "deviation" if sample in DRAWN else "standard_error").loc[ratios.index]
    has_bars = bool(deviations.notna().to_numpy().any())
    compared = f"P({POSITIVE} | group) / P({POSITIVE} | {', '.join(REFERENCE.values())})"
    if sample in DRAWN:
        compared += f"; bars: one standard deviation over {study.data_sets} data sets"
    elif has_bars:
        compared += "; bars: one standard error"
    return pt.plots.plot_disparity_ratios(
        ratios, deviations=deviations if has_bars else None, names=NAMES, title=title, compared=compared
    )
