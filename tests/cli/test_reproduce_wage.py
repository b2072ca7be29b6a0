"""`purtensor reproduce wage`: what it prints, writes and reports, on the embedded survey and on a user's file."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli import reproduce_wage, wage_exhibits
from purtensor.cli.main import BAD_INPUT, main
from purtensor.datasets.sectors import CPS_SECTORS
from purtensor.studies.wage import YEARS

pytestmark = pytest.mark.slow

FIGURES = (
    "prevalences",
    "conditionals",
    "own_disparities",
    "disparities",
    "natural_predictions",
    "generated",
    "utility_errors",
    "prevalences_all_years",
    "by_year",
)


def reproduced(*options: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["reproduce", "wage", *options]) == 0
    return said.getvalue()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def printed(out: Path) -> str:
    return reproduced("--out", str(out), "--sets", "6", "--seed", "1")


def test_reproduce_wage__prints_what_it_did(printed: str) -> None:
    assert "16,888" in printed
    assert "6 training and test sets, 18 projections, seed 1" in printed
    assert re.search(r"unseen +0\.\d\d % \(at most 0\.\d\d %\)", printed)
    assert re.search(r"lambda +0\.0001, washed out 1\.95e-05 \(lambda \* profiles / N\)", printed)
    assert re.search(r"significant deviation: (fe)?male, \w+ at [-\d.<>=]+, [+-]", printed)  # group and range are named
    assert printed.count("holds: ") + printed.count("cannot be decided ") == 9 + 4
    assert "does not hold" not in printed


def test_reproduce_wage__writes_every_figure_twice_and_its_numbers_twice(printed: str, out: Path) -> None:
    for name in FIGURES:
        assert (out / "wage" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / "wage" / f"{name}.svg").read_text()
        numbers = pd.read_csv(out / "wage" / f"{name}.csv")
        assert len(numbers)
        pd.testing.assert_frame_equal(pd.read_parquet(out / "wage" / f"{name}.parquet"), numbers, check_dtype=False)


def test_reproduce_wage__the_printed_numbers_are_those_of_the_files(printed: str, out: Path) -> None:
    told = pd.read_csv(out / "wage" / "disparities.csv").query("response == '>=15'")
    for row in told.itertuples():
        assert f"{row.mean:+.3f} ± {row.deviation:.3f}" in printed
    assert pt.load(out / "wage" / "PUR.nc").certified


def test_reproduce_wage__the_report_has_figures_verdicts_and_hashes(printed: str, out: Path) -> None:
    page = (out / "wage" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == len(FIGURES)
    assert page.count("✓ holds") + page.count("? cannot be decided ") == 9 + 4
    linked = re.findall(r"(?:src|href)=\"(?!data:|#)(.*?)\"", page)
    assert linked
    assert all((out / "wage" / name).is_file() for name in linked)
    told = [pd.read_csv(out / "wage" / f"{name}.csv") for name in ("claims", "claims_over_the_years")]
    assert [len(frame) for frame in told] == [9, 4]
    hashes = re.findall(r"[0-9a-f]{64}", printed)
    assert len(hashes) == 2
    assert all(text in page for text in hashes)
    assert pd.__version__ in page


def without_drawing(axes: object, path: Path, **_: object) -> tuple[Path, Path]:
    """Stands in for `save_figure`, which takes most of the time: keeps a picture that is there."""
    vector = path.with_suffix(".svg")
    if not vector.exists():
        vector.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return vector, vector.with_suffix(".png")


def test_reproduce_wage__again_it_takes_what_is_there(printed: str, out: Path, monkeypatch) -> None:
    monkeypatch.setattr(wage_exhibits, "save_figure", without_drawing)
    monkeypatch.setattr(reproduce_wage, "save_figure", without_drawing)
    before = {name: (out / "wage" / f"{name}.csv").read_bytes() for name in FIGURES}
    report = without_command(out / "wage" / "report.html")
    assert (
        reproduced("--out", str(out), "--sets", "6", "--seed", "1", "--workers", "1").partition("\nreplaced, ")[0]
        == printed
    )
    assert before == {name: (out / "wage" / f"{name}.csv").read_bytes() for name in FIGURES}
    assert without_command(out / "wage" / "report.html") == report


def without_command(page: Path) -> str:
    return re.sub(r"<dt>command</dt><dd>.*?</dd>", "", page.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up file in the shape of the gender-pay-gap data, of all its years, in which the pay gap falls."""
    rng, people = np.random.default_rng(3), 14_000
    sex = rng.integers(1, 3, people)
    year = rng.choice(YEARS, people)
    gap = 1.0 - (sex == 2) * np.interp(year, (YEARS[0], YEARS[-1]), (0.6, 0.1))
    industry = rng.integers(len(CPS_SECTORS), size=people)
    frame = pd.DataFrame(
        {
            "year": year,
            "sex": sex,
            "race": rng.integers(1, 5, people),
            "age": rng.integers(18, 65, people),
            "sch": rng.integers(8, 19, people),
            "realhrwage": rng.gamma(4, 6, people) * gap,
            **{name: (industry == at).astype(int) for at, name in enumerate(CPS_SECTORS)},
        }
    )
    path = tmp_path_factory.mktemp("cps") / "cps.csv"
    frame.to_csv(path, index=False)
    return path


def test_reproduce_wage__every_year_of_the_users_file(survey: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(wage_exhibits, "save_figure", without_drawing)
    monkeypatch.setattr(reproduce_wage, "save_figure", without_drawing)
    said = reproduced("--cps", str(survey), "--out", str(tmp_path), "--sets", "4")
    assert [line for line in said.splitlines() if line.startswith("CPS")] == [f"CPS {year}" for year in YEARS]
    for year in YEARS:
        assert (tmp_path / "wage" / str(year) / "disparities.csv").exists()
    page = (tmp_path / "wage" / "report.html").read_text(encoding="utf-8")
    assert 'href="#part8"' in page  # seven years, and all together
    assert "Over the years" in page
    assert pd.read_csv(tmp_path / "wage" / "by_year.csv")["year"].tolist() == list(YEARS)
    told = pd.read_csv(tmp_path / "wage" / "claims_over_the_years.csv").set_index("statement")["finding"]
    assert told["Disparity in the data falls slowly over the years"] == "HOLDS"
    assert told["Predictions fluctuate more in the early years"] == "UNTOLD_YEARS"  # as many people in every year
    assert told["Disparities in the data reach 30%"] == "FAILS"  # the paper's years, which may refute it
    shares = pd.read_csv(tmp_path / "wage" / "prevalences_all_years.csv").query("attribute == 'gender'")
    assert shares["share"].sum() == pytest.approx(1)
    assert "SHA-256 of the file" in page


def test_reproduce_wage__another_count_is_another_report(survey: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(wage_exhibits, "save_figure", without_drawing)
    monkeypatch.setattr(reproduce_wage, "save_figure", without_drawing)
    reports = []
    frame = pd.read_csv(survey).query("year == 2013")
    for number, frame_now in enumerate((frame, frame.iloc[1:])):
        path = tmp_path / f"cps{number}" / "cps.csv"
        path.parent.mkdir()
        frame_now.to_csv(path, index=False)
        reproduced("--cps", str(path), "--out", str(path.parent), "--sets", "2")
        reports.append((path.parent / "wage" / "report.html").read_text(encoding="utf-8"))
    assert len(set(re.findall(r"[0-9a-f]{64}", reports[0])) & set(re.findall(r"[0-9a-f]{64}", reports[1]))) == 0
    assert reports[0] != reports[1]


def test_reproduce_wage__refuses_a_file_of_other_years(survey: Path, tmp_path: Path, capsys) -> None:
    other = tmp_path / "other.csv"
    pd.read_csv(survey).assign(year=2020).to_csv(other, index=False)
    assert main(["reproduce", "wage", "--cps", str(other), "--out", str(tmp_path)]) == BAD_INPUT
    assert "none of the years" in capsys.readouterr().err
