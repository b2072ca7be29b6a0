"""Tables, ratios and profiles, against numbers that can be checked by hand."""

from __future__ import annotations

import io
import math

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.comparison.outcome import Outcome
from purtensor.comparison.peers.peer import Line
from purtensor.comparison.result import Comparison
from purtensor.comparison.rule import Ending
from purtensor.comparison.statistics import performance_profile


def comparison() -> Comparison:
    """Return two problems: `fast` takes 1, 2, 4 s and 1 s, `slow` 10, 10, 10 s and never solves the second."""
    solved = Outcome(
        Ending.CONVERGED,
        "",
        1e-11,
        2e-11,
        1e-20,
        1e-20,
        5,
        500,
        1.0,
        2e6,
        (Line(0, 0.0, 0.1, 0.2), Line(2, 0.5, 1e-7, 2e-7), Line(5, 1.0, 1e-11, 2e-11)),
    )
    failed = Outcome(Ending.FAILED, "ValueError: 50 % & more_")
    outcomes = {("p", "fast"): solved, ("p", "slow"): solved, ("q", "fast"): solved, ("q", "slow"): failed}
    times = [
        ("p", "fast", 1, 1.0),
        ("p", "slow", 1, 10.0),
        ("p", "slow", 2, 10.0),
        ("p", "fast", 2, 2.0),
        ("p", "fast", 3, 4.0),
        ("p", "slow", 3, 10.0),
        ("q", "fast", 1, 1.0),
    ]
    frame = pd.DataFrame(times, columns=["problem", "solver", "round", "seconds"])
    return Comparison.of(outcomes, frame, 1e-10, {"p": {"profiles": "3"}, "q": {}}, {"processor": "abacus"})


def test_ratios__are_medians_of_pairs() -> None:
    ratios = comparison().ratios("fast").set_index(["problem", "solver"])
    assert ratios.loc[("p", "slow")].tolist() == [5.0, 2.5, 10.0]
    assert ratios.loc[("p", "fast")].tolist() == [1.0, 1.0, 1.0]
    assert ("q", "slow") not in ratios.index
    assert comparison().ratios("slow")["ratio"].tolist() == pytest.approx([0.2, 1.0])
    with pytest.raises(pt.InvalidOptionError, match="no solver 'nobody'; compared were fast, slow"):
        comparison().ratios("nobody")


def test_runs__medians_and_extremes() -> None:
    runs = comparison().runs.set_index(["problem", "solver"])
    assert runs.loc[("p", "fast"), ["seconds", "seconds_low", "seconds_high"]].tolist() == [2.0, 1.0, 4.0]
    assert math.isnan(runs.loc[("q", "slow"), "seconds"])
    assert runs["converged"].tolist() == [True, True, True, False]


def test_performance_profile__by_hand() -> None:
    # p: fast 2 s, slow 10 s (factor 5); q: fast alone
    profile = comparison().performance_profile()
    assert profile.query("solver == 'fast'").drop(columns="solver").values.tolist() == [[1.0, 1.0], [5.0, 1.0]]
    assert profile.query("solver == 'slow'").drop(columns="solver").values.tolist() == [[1.0, 0.0], [5.0, 0.5]]


def test_performance_profile__laws_of_random_runs() -> None:
    rng = np.random.default_rng(3)
    runs = pd.DataFrame(
        [(p, s, bool(rng.random() < 0.7), float(rng.exponential())) for p in range(20) for s in "abc"],
        columns=["problem", "solver", "converged", "seconds"],
    )
    profile = performance_profile(runs)
    solvable = runs[runs["converged"]]["problem"].nunique()
    assert profile.query("factor == 1")["share"].sum() == pytest.approx(1.0)  # no ties: each problem has one fastest
    for solver, steps in profile.groupby("solver"):
        assert (np.diff(steps["share"]) >= 0).all()
        own = runs[(runs["solver"] == solver) & runs["converged"]]
        assert steps["share"].iloc[-1] == pytest.approx(len(own) / solvable)


def test_performance_profile__nobody_solved_anything() -> None:
    runs = pd.DataFrame({"problem": ["p"], "solver": ["s"], "converged": [False], "seconds": [math.nan]})
    assert performance_profile(runs).values.tolist() == [["s", 1.0, 0.0]]


def test_time_to_accuracy__first_time_at_or_below() -> None:
    found = comparison().time_to_accuracy((0.1, 1e-3, 1e-11, 1e-12)).query("problem == 'p' and solver == 'fast'")
    assert found["seconds"].tolist()[:3] == [0.0, 0.5, 1.0]
    assert math.isnan(found["seconds"].iloc[3])
    assert len(comparison().time_to_accuracy((1e-3,))) == 3


def test_forms__markdown_latex_csv_xarray() -> None:
    pytest.importorskip("tabulate")
    pytest.importorskip("jinja2")
    compared = comparison()
    lines = compared.to_markdown().splitlines()
    assert len(lines) == 6
    assert "2 s" in lines[2]
    assert "1.0e-11" in lines[2]
    latex = compared.to_latex()
    assert r"\toprule" in latex
    assert "1.0e-20" in latex
    text = compared.to_csv()
    assert text is not None
    back = pd.read_csv(io.StringIO(text))
    assert back["residual"].iloc[0] == 1e-11
    assert back["note"].iloc[3] == "ValueError: 50 % & more_"
    dataset = compared.to_xarray()
    assert float(dataset["seconds"].sel(problem="p", solver="slow")) == 10.0
    assert dataset.attrs["processor"] == "abacus"
    assert dataset["kl"].attrs["long_name"].startswith("nats")
    assert "converged" in repr(compared)
    assert "<table" in compared._repr_html_()
