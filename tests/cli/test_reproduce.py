"""`purtensor reproduce adult`: what it prints and writes, and that the README shows it."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.cli.main import BAD_INPUT, main
from purtensor.studies.adult_study import DISTRIBUTIONS, SAMPLES

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("out")


@pytest.fixture(scope="module")
def printed(out: Path) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["reproduce", "adult", "--out", str(out), "--data-sets", "2", "--seed", "3"]) == 0
    return said.getvalue()


def test_reproduce__prints_what_the_readme_shows(printed: str) -> None:
    shown = README.read_text().split("```\n>50K", maxsplit=1)[1].split("\n```", maxsplit=1)[0]
    ratios, costs = f">50K{shown}".split("\n\n")
    assert ratios in printed
    # of the costs the divergences are compared, not what rounding leaves of the residuals
    divergences = re.findall(r"^.+? 0\.\d{9}(?= )", costs, flags=re.MULTILINE)
    assert len(divergences) == len(DISTRIBUTIONS)
    assert all(line in printed for line in divergences)


def test_reproduce__writes_every_distribution_twice(printed: str, out: Path) -> None:
    assert "214 supported of 216" in printed
    for name in DISTRIBUTIONS:
        table = pt.load(out / "adult" / f"{name}.csv")
        saved = pt.load(out / "adult" / f"{name}.nc")
        whole = saved if name == "f" else saved.table
        assert table.to_series().to_numpy() == pytest.approx(whole.to_series().to_numpy(), abs=0)
        assert float(table.sum()) == pytest.approx(1.0, abs=1e-14)
        assert name == "f" or saved.converged


def test_reproduce__writes_tidy_figures(printed: str, out: Path) -> None:
    disparities = pd.read_csv(out / "adult" / "disparities.csv")
    pd.testing.assert_frame_equal(
        pd.read_parquet(out / "adult" / "disparities.parquet"), disparities, check_dtype=False
    )
    assert len(disparities) == len(DISTRIBUTIONS) * len(SAMPLES) * 3
    assert set(disparities["sample"]) == set(SAMPLES)
    f = pt.load(out / "adult" / "f.csv")
    ratio = pt.disparity_ratio(
        f, response="income", protected=("gender", "race"), reference={"gender": "male", "race": "white"}
    )
    row = disparities.query("distribution == 'f' and sample == 'itself' and gender == 'female' and race == 'white'")
    assert row["ratio"].item() == ratio.sel(income=">50K", gender="female", race="white").item()
    known = disparities.query("sample == 'itself'").set_index(["distribution", "gender", "race"])["standard_error"]
    # the ratio of two independent shares, by its own formula
    pairs = pd.read_csv(out / "adult" / "f.csv").groupby(["gender", "race", "income"])["probability"].sum() * 30725
    of = {s: (pairs[(*s, ">50K")] / pairs[s].sum(), pairs[s].sum()) for s in [("female", "white"), ("male", "white")]}
    (p, n), (q, m) = of.values()
    assert known["f", "female", "white"] == pytest.approx(p / q * np.sqrt((1 - p) / p / n + (1 - q) / q / m), rel=1e-6)
    assert known[["P", "PU", "PUR", "MaxEnt"]].abs().max() < 1e-6
    costs = pd.read_csv(out / "adult" / "costs.csv").set_index("distribution")
    assert np.isnan(costs.loc["f", "sweeps"])
    assert costs.loc["PUR", "divergence"] == pytest.approx(0.039140317, abs=5e-10)


def test_reproduce__draws_the_picture_in_both_forms(printed: str, out: Path) -> None:
    assert (out / "adult" / "disparities.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (out / "adult" / "disparities.svg").read_text()


def test_reproduce__refuses_a_negative_strength(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "adult", "--out", str(tmp_path), "--strength", "-1"]) == BAD_INPUT
    assert "strength" in capsys.readouterr().err


def test_reproduce__writes_a_report_with_every_figure_and_verdict(printed: str, out: Path) -> None:
    page = (out / "adult" / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/svg+xml;base64,") == 4
    linked = re.findall(r"(?:src|href)=\"(?!data:|#)(.*?)\"", page)
    assert linked
    assert all((out / "adult" / name).is_file() for name in linked)
    assert sum(page.count(f'class="{verdict}"') for verdict in ("holds", "untold", "fails")) == 16
    told = pd.read_csv(out / "adult" / "claims.csv")
    assert all(f"{verdict}: {statement}" in printed for verdict, statement in zip(told["verdict"], told["statement"]))
    assert len(told) == 16
    (digest,) = re.findall(r"[0-9a-f]{64}", printed)
    assert digest in page
    assert "n_estimators=10" in page
    for name in ("prevalences", "disparities", "synthetic", "forests"):
        assert (out / "adult" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
