"""The fair version of somebody's own data, as a report: what was asked, what came, what it cost, and the proof."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from purtensor._typing import Table
from purtensor.errors import PurtensorError
from purtensor.fairness.disparity import disparity_ratio
from purtensor.fairness.pur import realism
from purtensor.inference.delta_method import standard_errors
from purtensor.projection.project import project
from purtensor.projection.result import Projection
from purtensor.projection.verify import verify
from purtensor.report.page import Exhibit, Part, Report
from purtensor.tables.coded import encode
from purtensor.tables.marginal import marginal

_PACKAGES = ("purtensor", "numpy", "scipy")
_MOST_CHANGES = 20
# the name of the figure
PICTURE = "disparities"


def disparities(
    result: Projection[Table], f: Table, *, response: str, protected: Sequence[str]
) -> tuple[pd.DataFrame, str]:
    """Return the disparity ratios before and after with their standard errors, and a sentence on these.

    The groups are compared with the one that has most mass.

    Raises
    ------
    PurtensorError
        As `purtensor.disparity_ratio`.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.report.fair_data import disparities
    >>> counts = pt.tabulate({"hired": ["no", "yes"] * 2, "sex": ["f", "f", "m", "m"]}, weights=[40, 10, 30, 30])
    >>> f = pt.regularize(counts, response="hired")
    >>> fair = pt.project(f, pt.parity(f, response="hired", protected="sex"))
    >>> frame, _ = disparities(fair, f, response="hired", protected=["sex"])
    >>> frame.round(3).values.tolist()
    [['f', 'no', 1.6, 0.236, 1.0, 0.0], ['f', 'yes', 0.4, 0.124, 1.0, 0.0]]
    """
    names = list(protected)
    groups, answers = encode(marginal(f, names)), encode(marginal(f, response))
    largest = groups.label(int(np.argmax(groups.values)))
    compared: dict[str, Any] = {
        "response": response,
        "protected": names,
        "reference": dict(zip(names, largest, strict=True)),
    }
    found = {"before": disparity_ratio(f, **compared), "after": disparity_ratio(result.table, **compared)}
    message, size = "No standard errors: the counts are sums of weights.", float(f.attrs.get("total", math.nan))
    if size.is_integer():
        message = "Standard errors take the data for a sample of independent people, to first order."
        # f is the projection of itself onto any of its marginals
        itself = project(f, realism(f, response=response, protected=names), certificate=False)
        found["se before"] = standard_errors(itself, size=int(size)).disparity_ratio(**compared)
        try:
            found["se after"] = standard_errors(result, size=int(size), data=f).disparity_ratio(**compared)
        except PurtensorError as error:
            message += f" None after: {error}."
    labels = [groups.label(row) for row in range(len(groups.values))]
    outcomes = [answers.label(row)[0] for row in range(len(answers.values))]
    shown = [(label, outcome) for label in labels if label != largest for outcome in outcomes]
    series = {name: ratios.to_series() for name, ratios in found.items()}
    numbers = pd.DataFrame({name: [own[(outcome, *label)] for label, outcome in shown] for name, own in series.items()})
    if "se after" in numbers:
        numbers["se after"] = numbers["se after"].round(9)  # below is rounding: 0 where parity holds
    order = [name for name in ("before", "se before", "after", "se after") if name in numbers]
    names_of = {
        "group": [", ".join(map(str, label)) for label, _ in shown],
        response: [str(outcome) for _, outcome in shown],
    }
    return pd.DataFrame({**names_of, **numbers[order]}), message


def largest_changes(result: Projection[Table], most: int = _MOST_CHANGES) -> pd.DataFrame:
    """Return the profiles whose shares changed most, the largest first: before, after, and the factor.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.report.fair_data import largest_changes
    >>> counts = pt.tabulate({"hired": ["no", "yes"] * 2, "sex": ["f", "f", "m", "m"]}, weights=[40, 10, 30, 20])
    >>> fair = pt.project(counts, pt.parity(counts, response="hired", protected="sex"))
    >>> largest_changes(fair, 1).round(3).values.tolist()
    [['hired=no, sex=f', 0.4, 0.35, 0.875]]
    """
    coded = encode(result.reference)
    before = coded.values / coded.total
    after = np.asarray(result.table.values, dtype=np.float64).reshape(-1)[coded.positions]
    after = after / after.sum()
    rows = np.argsort(-np.abs(after - before), kind="stable")[:most]
    return pd.DataFrame(
        {
            "profile": [coded.describe(int(row)) for row in rows],
            "before": before[rows],
            "after": after[rows],
            "factor": after[rows] / before[rows],
        }
    )


def fair_data_report(
    result: Projection[Table],
    ratios: pd.DataFrame,
    *,
    data: str,
    facts: Mapping[str, str],
    remark: str,
    figure: Path | None = None,
) -> Report:
    """Return the report of a projection of somebody's own data.

    Parameters
    ----------
    result
        The projection.
    ratios, remark
        What `disparities` returned.
    data
        What the data are called.
    facts
        On the data and the question, by name.
    figure
        The picture of the disparities.

    Examples
    --------
    >>> import purtensor as pt
    >>> from purtensor.report.fair_data import disparities, fair_data_report
    >>> counts = pt.tabulate({"hired": ["no", "yes"] * 2, "sex": ["f", "f", "m", "m"]}, weights=[40, 10, 30, 20])
    >>> fair = pt.project(counts, pt.parity(counts, response="hired", protected="sex"))
    >>> ratios, remark = disparities(fair, counts, response="hired", protected=["sex"])
    >>> fair_data_report(fair, ratios, data="people.csv", facts={}, remark=remark).title
    'The fair version of people.csv'
    """
    checked = verify(result)
    proof = {
        **{name: text for name, text in result.summary().items() if text},
        "second opinion": "a check by separate code confirms every number"
        if checked.passed
        else f"a check by separate code does not confirm: {'; '.join(checked.failures)}",
    }
    shown = Exhibit(
        "Disparity ratios, before and after",
        f"p(response | group) over that of the group with most people; 1 is parity. {remark}",
        figure=figure,
        table=ratios,
        numbers="disparities.csv",
    )
    changes = Exhibit(
        "What changed most",
        "Shares of the whole before and after, and the factor by which the weight of such a person changes.",
        table=largest_changes(result),
        numbers="changes.csv",
    )
    return Report(
        f"The fair version of {data}",
        "The distribution closest to the data, in Kullback-Leibler divergence, among all that meet the conditions that "
        "were asked: parity (the response does not depend on the protected attributes), utility (what is otherwise "
        "known of the response stays) and realism (who the people are stays).",
        [
            Part("What was asked", dict(facts), (), ()),
            Part("What came", {"cost": f"{result.divergence:.6g} nats from the data"}, (), (shown, changes)),
            Part("Proof", proof, (), ()),
        ],
        versions={name: version(name) for name in _PACKAGES},
    )
