"""The figures in the pages about the paper and about fairness are those that the code computes today."""

from __future__ import annotations

import contextlib
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import purtensor as pt
from purtensor.cli import adult_exhibits, reproduce_wage, wage_exhibits
from purtensor.cli.compare_fair import EMBEDDED
from purtensor.cli.main import main
from purtensor.studies.fair_methods.contest import METHODS, compare_fair

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"(?<![\w.])[-+]?(\d[\d,]*(?:\.\d+)?|\.\d+)(e[-+]?\d+)?(?![\w])")

CLAIMS = {
    "in the data all groups are below four fifths of the rate of white men": ["In the data all three groups"],
    "P alone lessens the disparity on test data but does not remove it": ["P alone lessens"],
    "P and U together lessen it but do not remove it": ["P and U together"],
    "PUR removes it on test data up to sampling noise": ["PUR removes disparity on test data"],
    "PUR removes it on the mean of simulated test splits": ["PUR removes disparity on the mean"],
    "the utility error of PUR is close to that of f": ["The utility-based generalisation error"],
    "data generated from P, PU, PUR and MaxEnt-PUR have parity on average": [
        f"Data generated from {name} have parity" for name in ("P", "PU", "PUR", "MaxEnt")
    ],
    "no generated data set has a ratio below four fifths": ["No data set generated"],
    "forests trained on data generated from f have its disparity": ["Random forests trained on data generated from f "],
    "forests trained on data of P and PU re-introduce disparity": ["Forests trained on data generated from P and PU"],
    "forests trained on data of MaxEnt-PUR do not": ["Forests trained on data generated from MaxEnt-PUR"],
    "forests trained on data of PUR stay within noise of 1": ["Random forests trained on data generated from PUR"],
    "projections have exactly the stated marginals": ["The projections have exactly the marginals"],
    "disparity in the data falls slowly over the years": ["Disparity in the data falls"],
    "predictions fluctuate more in the early years": ["Predictions fluctuate"],
    "disparities in the data reach 30 %": ["Disparities in the data reach"],
    "PUR removes more than 90 % of the disparity on test data": ["PUR removes more than 90%"],
}
"""By statement of the page: how the claims of the studies begin that it tells the verdict of."""


@dataclass(frozen=True)
class Study:
    """What a command printed, and the folder of what it wrote."""

    printed: str
    folder: Path

    def frame(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / f"{name}.csv")


def without_drawing(axes: object, path: Path, **_: object) -> tuple[Path, Path]:
    vector = path.with_suffix(".svg")
    vector.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return vector, vector.with_suffix(".png")


def reproduced(study: str, out: Path, *words: str) -> Study:
    with pytest.MonkeyPatch.context() as patched:
        for module in (adult_exhibits, reproduce_wage, wage_exhibits):
            patched.setattr(module, "save_figure", without_drawing)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            assert main(["reproduce", study, "--out", str(out), "--seed", "0", *words]) == 0
    return Study(said.getvalue(), out / study)


@pytest.fixture(scope="module")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return reproduced("adult", tmp_path_factory.mktemp("adult"), "--data-sets", "100")


@pytest.fixture(scope="module")
def wage(tmp_path_factory: pytest.TempPathFactory) -> Study:
    return reproduced("wage", tmp_path_factory.mktemp("wage"), "--sets", "1000")


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows_under(text: str, heading: str) -> list[list[str]]:
    """Return the cells of the table that begins with a heading."""
    table = text[text.index(heading) :].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in table]


def numbers(text: str) -> list[tuple[float, float]]:
    """Return the size of each number in a text, and half a unit of its last digit."""
    found = []
    for match in NUMBER.finditer(text):
        mantissa, power = match[1].replace(",", ""), float(match[2][1:]) if match[2] else 0.0
        digits = len(mantissa.partition(".")[2])
        found.append((float(mantissa) * 10**power, 0.5 * 10 ** (power - digits)))
    return found


def strange_numbers(told: str, evidence: str) -> list[float]:
    """Return the numbers of a text that are none of the evidence, rounded to their digits."""
    known = [value for value, _ in numbers(evidence)]
    return [
        value
        for value, half in numbers(told)
        if not any(abs(value - one) <= half * (1 + 1e-6) + 1e-15 for one in known)
    ]


def test_strange_numbers__of_other_digits_and_of_words() -> None:
    assert strange_numbers("leaves 2.7 %, +.0056, 8e-11 of 46,043", "2.66 % +0.00561 7.9e-11 46043") == []
    assert strange_numbers("leaves 2.8 % of 3", "2.66 % 3.0") == [2.8]


def test_paper__every_verdict_is_that_of_the_studies(adult: Study, wage: Study) -> None:
    found = {
        "Adult": adult.frame("claims"),
        "wages": pd.concat([wage.frame("claims"), wage.frame("claims_over_the_years")]),
    }
    told: dict[str, set[str]] = {study: set() for study in found}
    (sample, *rows) = rows_under(page("notes/paper.md"), "| statement | Adult | wages |")
    assert numbers(sample[0])[0][0] == float(pt.datasets.adult().sum())
    assert {row[0] for row in rows} == set(CLAIMS)
    for statement, *cells in rows:
        for study, cell in zip(found, cells, strict=True):
            if not cell:
                continue
            begins = tuple(CLAIMS[statement])
            claims = found[study][[one.startswith(begins) for one in found[study]["statement"]]]
            assert len(claims) == len(begins), (statement, study)
            told[study] |= set(claims["statement"])
            for verdict in claims["verdict"]:
                assert cell.replace(" .", " 0.").replace("+.", "+0.").startswith(verdict), (statement, study, verdict)
            assert strange_numbers(cell, " ".join([*claims["evidence"], *claims["verdict"]])) == [], (statement, study)
    assert told == {study: set(frame["statement"]) for study, frame in found.items()}  # none is left out


def test_paper__the_rest_falls_with_the_size_of_the_sets(wage: Study) -> None:
    rows = rows_under(page("notes/paper.md"), "| people in each set |")
    for row, told in zip(wage.frame("rest_by_size").itertuples(index=False), rows, strict=True):
        size, sets, rms, rest, unseen = row
        assert sets == 400
        assert strange_numbers(told[0].partition(" (")[0], str(size)) == []
        for cell, value in zip(told[1:], (rms, rest, 100 * unseen), strict=True):
            assert strange_numbers(cell, f"{value:.9f}") == [], told


def test_paper__what_the_choices_change(adult: Study, wage: Study) -> None:
    text = " ".join(page("notes/paper.md").split())
    ratios = adult.frame("by_unseen_rule").set_index(["distribution", "group"])
    moved = ratios[ratios["difference"] != 0]
    assert moved.index.get_level_values("group").nunique() == 1
    of_wages = wage.frame("by_unseen_rule").set_index(["model", "rule"])["mean disparity"]

    def change(before: float, after: float, digits: int) -> str:
        return f"from {before:.{digits}f} to {after:.{digits}f}".replace("0.", ".")

    for name in ("PUR", "f"):
        (row,) = moved.xs(name, level="distribution").itertuples(index=False)
        assert f"{change(row[0], row[1], 4)} under {name}" in text
    assert f"mean disparity of PUR {change(of_wages['PUR', 'marginal'], of_wages['PUR', 'drop'], 5)}" in text
    drawn = re.search(r"drawn from +(.+)", wage.printed)
    told = re.search(r"from f instead: (.+?)\.", text)
    assert drawn is not None
    assert told is not None
    assert len(numbers(told[1])) == 3
    assert strange_numbers(told[1], drawn[1]) == []


def test_fair_decisions__the_table_is_that_of_the_study(adult: Study) -> None:
    text = page("notes/fair_decisions.md")
    decisions = adult.frame("decisions").set_index(["distribution", "rule"])
    rows = rows_under(text, "| rule | accuracy |")
    assert len(rows) == 5
    groups = ["female, non-white", "female, white", "male, non-white", "male, white"]
    for name, *cells in rows:
        found = decisions.loc[tuple(name.split(", "))]
        for cell, value in zip(cells, found[["accuracy", *groups, "smallest / largest"]], strict=True):
            assert cell == f"{value:.3f}".removeprefix("0"), (name, value)
    nobody = adult.frame("decisions").iloc[0]
    assert f"right for {nobody['accuracy']:.3f}".replace("0.", ".") in text
    assert f"median ratio of {decisions.loc[('PUR', 'draw'), 'median ratio when drawn']:.3f}".replace("0.", ".") in text
    shares = [
        f"{100 * share:.0f} %" for share in (nobody["accuracy"], *decisions.loc["PUR"]["accuracy"][["fair", "draw"]])
    ]
    told = page("notes/what_is_fair.md")
    assert all(share in told[told.index("On Adult, a negative decision") :] for share in shares)
    assert f"{100 * decisions.loc[('PUR', 'likeliest'), groups[0]]:.1f} % of non-white women" in page("paper/paper.md")


def test_fair_decisions__one_draw_for_each_profile_is_not_fair() -> None:
    train, test = pt.datasets.adult(split="train"), pt.datasets.adult(split="test")
    roles = {"response": "income", "protected": ["gender", "race"]}
    f = pt.regularize(train, response="income")
    q = pt.project(f, pt.pur(f, **roles)).table
    told = pt.predict(q, test, response="income", unseen="marginal").to_series().unstack("income").fillna(0.0)
    people = told.sum(axis=1)
    assert len(people) == 107
    yes = np.random.default_rng(0).random((2000, len(people))) < (told[">50K"] / people).to_numpy()
    decided = pd.DataFrame((yes * people.to_numpy()).T, index=people.index)
    rates = decided.groupby(level=["gender", "race"]).sum().div(people.groupby(level=["gender", "race"]).sum(), axis=0)
    unfair = float((rates.min() < 0.8 * rates.max()).mean())
    assert unfair > 0.99
    assert "more than\n99 % of the seeds" in page("notes/fair_decisions.md")


def test_readme__prints_what_the_study_prints(adult: Study) -> None:
    text = page("README.md")
    shown = re.findall(r"```\n(>50K: ratio to .+?)```", text, re.S)
    assert len(shown) == 1
    lines = [line for line in shown[0].splitlines() if line]
    printed = adult.printed.splitlines()
    at = printed.index(lines[0])
    for line in lines:
        if set(line) == {"-"}:
            continue
        found = next(one for one in printed[at:] if one.split()[:2] == line.split()[:2])
        tokens = found.split()
        for token, own in zip(line.split(), tokens, strict=True):
            noise = all("e-" in word and float(word) < 1e-14 for word in (token, own))
            assert token == own or noise, (line, found)


@pytest.mark.parametrize("data", ["coarse", "rich"])
def test_what_is_fair__methods_reach_what_the_table_says(data: str) -> None:
    thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    table = rows_under(page("notes/what_is_fair.md"), "| method | log-loss, coarse |")
    cells = {"coarse": {"log_loss": 0, "gap": 2}, "rich": {"log_loss": 1, "gap": 3, "decision_gap": 4, "accuracy": 5}}
    assert {row[0] for row in table} <= set(METHODS)
    counts = pt.datasets.adult(**EMBEDDED["adult" if data == "coarse" else "adult-rich"])
    times = 20 if thorough else 3
    roles = {"response": "income", "protected": ["gender", "race"]}
    found = compare_fair(counts, **roles, methods=[row[0] for row in table], times=times)
    means = found.summary().set_index("method")
    for name, *told in table:
        if name in found.skipped:
            continue
        for measure, at in cells[data].items():
            if not told[at]:
                assert np.isnan(means.loc[name, measure])
                continue
            value, error = re.fullmatch(r"(\.\d+)\((\d+)\)", told[at]).groups()  # type: ignore[union-attr]
            if thorough:
                assert f"{means.loc[name, measure]:.4f}".removeprefix("0") == value, (name, measure)
                continue
            # four deviations of the difference between means of few divisions and of 20
            width = 4 * float(error) * 1e-4 * np.sqrt(20) * np.sqrt(1 / times + 1 / 20)
            assert means.loc[name, measure] == pytest.approx(float(value), abs=max(width, 1e-4)), (name, measure)
    assert means.loc["PUR, natural", "gap_train"] < 1e-5  # pseudo-counts are people whom nobody is
    assert means.loc["PUR of smoothed f, natural", "gap_train"] < 1e-9
