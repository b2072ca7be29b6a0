"""The command line as a script sees it: answers, exit codes, one line on stderr."""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

import purtensor as pt
from purtensor.cli.main import (
    BAD_INPUT,
    DONE,
    INFEASIBLE,
    INTERRUPTED,
    NOT_CONVERGED,
    TOO_LARGE,
    as_typed,
    exit_code,
    main,
    one_line,
)
from purtensor.solving.solvers import SOLVERS
from purtensor.solving.solvers.automatic import Automatic
from purtensor.solving.solvers.by_name import solver_type

HIRED = """hired,sex,degree,count
no,f,no,30
no,f,yes,20
no,m,no,15
no,m,yes,15
yes,f,no,5
yes,f,yes,15
yes,m,no,10
yes,m,yes,40
"""


def purtensor(*words: str | Path, code: str = "") -> subprocess.CompletedProcess[str]:
    program = ["-c", code] if code else ["-m", "purtensor"]
    return subprocess.run([sys.executable, *program, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture
def hired(tmp_path: Path) -> Path:
    path = tmp_path / "hired.csv"
    path.write_text(HIRED)
    return path


def project(path: Path, *words: str | Path, response: str = "hired", protected: str = "sex") -> int:
    return main(["project", str(path), "--response", response, "--protected", protected, *map(str, words)])


def test_help__answers_without_the_heavy_packages() -> None:
    """How soon it does is bounded in tests/test_start_up.py, in processor time."""
    done = purtensor("--help")
    assert done.returncode == 0
    for word in ("project", "diagnose", "reproduce", "info", "exit codes", "3 infeasible"):
        assert word in done.stdout
    heavy = "import sys, purtensor.cli.parser as a, purtensor.cli.main; a.build_parser().format_help()\n"
    loaded = purtensor(code=heavy + "print([m for m in ('numpy', 'pandas', 'numba', 'rich') if m in sys.modules])")
    assert loaded.stdout.strip() == "[]"


def test_version__is_the_package_s() -> None:
    assert purtensor("--version").stdout.strip() == f"purtensor {pt.__version__}"


def test_usage_error__exits_with_two() -> None:
    done = purtensor("project")
    assert done.returncode == 2
    assert "try: purtensor project --help" in done.stderr


def test_project__writes_the_fair_table(hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fair.csv"
    assert project(hired, "--out", out, "--strength", "0") == 0
    fair = pd.read_csv(out).set_index(["hired", "sex", "degree"])["probability"]
    given = pd.read_csv(hired).set_index(["hired", "sex", "degree"])["count"] / 150
    # parity, utility and realism, each against sums that pandas makes
    pairs = fair.groupby(["hired", "sex"]).sum()
    for (y, s), mass in pairs.items():
        assert mass == pytest.approx(given.groupby("hired").sum()[y] * given.groupby("sex").sum()[s], abs=1e-9)
    for kept in (["hired", "degree"], ["sex", "degree"]):
        pd.testing.assert_series_equal(
            fair.groupby(kept).sum(), given.groupby(kept).sum(), check_names=False, atol=1e-9
        )
    printed = capsys.readouterr().out
    assert "8 supported of 8" in printed
    assert "disparity ratio, p(hired | group) / p(hired | m)" in printed
    assert "1.0000" in printed


def test_project__stops_on_what_is_asked_for(hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fair.csv"
    assert project(hired, "--stop-on", "log_ratio", "--tolerance", "1e-6", "--out", out) == DONE
    told = re.search(r"each profile +proved within a factor of exp\((.+)\) of the exact one", capsys.readouterr().out)
    assert told is not None
    assert 0 < float(told[1]) <= 1e-6


def test_project__of_records_is_that_of_their_counts(hired: Path, tmp_path: Path) -> None:
    counts = pd.read_csv(hired)
    records = counts.loc[counts.index.repeat(counts["count"]), ["hired", "sex", "degree"]].sample(
        frac=1, random_state=1
    )
    records.to_csv(tmp_path / "records.csv", index=False)
    assert project(hired, "--out", tmp_path / "a.csv") == 0
    assert project(tmp_path / "records.csv", "--out", tmp_path / "b.csv") == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()


def test_project__parquet_in_and_the_whole_result_out(hired: Path, tmp_path: Path) -> None:
    pd.read_csv(hired).to_parquet(tmp_path / "hired.parquet")
    assert project(tmp_path / "hired.parquet", "--out", tmp_path / "fair.nc") == 0
    result = pt.load(tmp_path / "fair.nc")
    assert result.converged
    assert result.residual < 1e-10


def test_project__onto_parity_alone_from_a_uniform_reference(hired: Path, tmp_path: Path) -> None:
    out = tmp_path / "fair.csv"
    assert project(hired, "--out", out, "--conditions", "P", "--reference", "uniform") == 0
    fair = pd.read_csv(out).pivot_table(index=["hired", "sex"], columns="degree", values="probability")
    # nothing tells the degrees apart but the reference, which is uniform
    assert (fair["no"] / fair["yes"]).to_numpy() == pytest.approx(1.0, abs=1e-9)


def test_project__onto_a_smoothed_reference(
    hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "fair.csv"
    counts = pt.tabulate(pd.read_csv(hired), weights="count")
    found = pt.fairness.smooth(counts, response="hired", protected="sex")

    def smooth(given: xr.DataArray, *, protected: list[str], **_: object) -> object:
        assert given.to_series().equals(counts.to_series())
        assert protected == ["sex"]
        return found

    monkeypatch.setattr("purtensor.cli.question.smooth", smooth)
    assert project(hired, "--out", out, "--reference", "smooth") == 0
    told = capsys.readouterr().out
    assert re.search(rf"smoothed +the response depends on .+, pseudo-count {found.strength:.6g}", told)
    fair = pd.read_csv(out).set_index(["hired", "sex", "degree"])["probability"]
    expected = pt.project(found.table, pt.pur(found.table, response="hired", protected="sex")).table.to_series()
    pd.testing.assert_series_equal(fair, expected, check_names=False, check_index_type=False, atol=1e-9)
    empirical = pt.regularize(counts, response="hired")
    unsmoothed = pt.project(empirical, pt.pur(empirical, response="hired", protected="sex")).table.to_series()
    assert (fair - unsmoothed).abs().max() > 1e-5


def test_project__from_a_reference_file(hired: Path, tmp_path: Path) -> None:
    other = pd.read_csv(hired)
    other["count"] = other["count"].iloc[::-1].to_numpy()
    other.to_csv(tmp_path / "reference.csv", index=False)
    out = tmp_path / "fair.csv"
    assert project(hired, "--out", out, "--reference", tmp_path / "reference.csv", "--strength", "0") == 0
    counts = pt.tabulate(pd.read_csv(hired), weights="count")
    constraints = pt.pur(pt.empirical(counts), response="hired", protected="sex")
    expected = pt.project(pt.tabulate(other, weights="count"), constraints).table
    found = pd.read_csv(out).set_index(["hired", "sex", "degree"])["probability"]
    pd.testing.assert_series_equal(found, expected.to_series(), check_names=False, check_index_type=False, atol=1e-9)


def test_project__from_the_result_of_another_projection(hired: Path, tmp_path: Path) -> None:
    # a projection is its own projection
    assert project(hired, "--out", tmp_path / "whole.nc") == 0
    assert project(hired, "--out", tmp_path / "again.csv", "--reference", tmp_path / "whole.nc") == 0
    once = pt.load(tmp_path / "whole.nc").table.to_series()
    again = pt.load(tmp_path / "again.csv").to_series()
    assert again.to_numpy() == pytest.approx(once.to_numpy(), abs=1e-9)


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        (["--response", "hird"], "UnknownAttributeError", "hired, sex, degree"),
        (["--unprotected", "school"], "UnknownAttributeError", "no attribute 'school'"),
        (["--conditions", "PX"], "InvalidOptionError", "PX"),
        (["--out", "fair.txt"], "InvalidOptionError", "fair.txt"),
        (["--out", "no/such/folder/fair.csv"], "InvalidOptionError", "folder"),
        (["--reference", "nowhere.csv"], "MissingFileError", "nowhere.csv"),
        (["--reference", "nearest"], "MissingFileError", "empirical, uniform, smooth, or a table"),
    ],
)
def test_project__bad_words_end_with_two_and_one_line(
    hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], error: str, told: str
) -> None:
    assert project(hired, "--out", str(tmp_path / "fair.csv"), *words) == BAD_INPUT
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"purtensor: {error}: ")
    assert told in said
    assert "Traceback" not in said


def test_project__missing_values_are_refused_dropped_or_a_category(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "gaps.csv"
    path.write_text("y,s,x\n" + "1,a,u\n0,a,u\n1,b,u\n0,b,u\n" * 3 + "1,,u\n")
    words = ("--out", tmp_path / "fair.csv")
    assert project(path, *words, response="y", protected="s") == BAD_INPUT
    assert "'s'" in capsys.readouterr().err
    assert project(path, *words, "--missing", "drop", response="y", protected="s") == 0
    assert "dropped rows" in capsys.readouterr().out
    assert project(path, *words, "--missing", "category", response="y", protected="s") == 0
    assert "missing" in set(pd.read_csv(tmp_path / "fair.csv", keep_default_na=False)["s"])


def test_project__infeasible_ends_with_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "zeros.csv"
    path.write_text("y,s,x,count\n1,a,u,3\n0,b,u,2\n")  # without pseudo-counts nothing can be (1, b)
    assert project(path, "--out", tmp_path / "o.csv", "--strength", "0", response="y", protected="s") == INFEASIBLE
    assert capsys.readouterr().err.startswith("purtensor: InfeasibleError: ")
    assert not (tmp_path / "o.csv").exists()


def test_project__not_converged_ends_with_four(hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--solver", "ipf", "--max-iterations", "1")
    assert project(hired, "--out", tmp_path / "fair.csv", *words) == NOT_CONVERGED
    told = capsys.readouterr().err
    assert told.startswith("purtensor: NotConvergedError: not converged after 1 iteration")
    assert "raise --max-iterations, or use --solver newton" in told
    assert not (tmp_path / "fair.csv").exists()


@pytest.mark.parametrize("solver", [*SOLVERS, "ipf(relaxation=1.2)", "newton(warm_up=0)", "lbfgs(memory=3)"])
def test_project__takes_every_solver_with_its_options(solver: str, hired: Path, tmp_path: Path) -> None:
    for name, words in {"asked": ("--solver", solver), "auto": ()}.items():
        assert project(hired, "--out", tmp_path / f"{name}.csv", *words) == DONE
    asked, auto = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("asked", "auto"))
    assert asked.iloc[:, -1].to_numpy() == pytest.approx(auto.iloc[:, -1].to_numpy(), abs=1e-8)


@pytest.mark.parametrize(
    ("solver", "complaint"),
    [
        ("nobody", "no solver 'nobody'; there are auto, ipf, newton, gis, lbfgs"),
        ("ipf(omega=1.5)", "ipf has no option 'omega'; it has order, relaxation, acceleration"),
        ("auto(fast=True)", "auto has no option 'fast'; it has none"),
        ("ipf(relaxation=3)", "exponent in (0, 2)"),
        ("ipf(relaxation='much')", "exponent in (0, 2), 1 for none, got 'much'"),
        ("ipf(1.5)", "options must be written as name(option=value, ...)"),
        ("ipf(relaxation=", "options must be written as name(option=value, ...)"),
        ("ipf(relaxation=open('x'))", "options must be written as name(option=value, ...)"),
    ],
)
def test_project__refuses_a_solver_that_is_none(
    solver: str, complaint: str, hired: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert project(hired, "--out", tmp_path / "fair.csv", "--solver", solver) == BAD_INPUT
    assert complaint in capsys.readouterr().err


def test_solvers__are_all_that_are_public() -> None:
    """The one list of names cannot go out of date: a solver is what has a step."""
    public = {found for name in dir(pt) if isinstance(found := getattr(pt, name), type) and hasattr(found, "step")}
    assert public == {solver_type(name) for name in SOLVERS} - {Automatic}


def test_project__debug_shows_where(hired: Path, tmp_path: Path) -> None:
    words = ["--debug", "project", str(hired), "--response", "no", "--protected", "sex", "--out", "fair.csv"]
    with pytest.raises(pt.UnknownAttributeError):
        main(words)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (pt.InfeasibleError("no"), INFEASIBLE),
        (pt.NotConvergedError("no"), NOT_CONVERGED),
        (pt.TooLargeError("no", 2, 1), TOO_LARGE),
        (MemoryError(), TOO_LARGE),
        (pt.InvalidTableError("no"), BAD_INPUT),
        (FileNotFoundError("no"), BAD_INPUT),
    ],
)
def test_exit_code__of_each_kind_of_error(error: BaseException, code: int) -> None:
    assert exit_code(error) == code


def test_as_typed__leaves_what_the_command_does_not_have() -> None:
    parsed = argparse.Namespace(max_seconds=1.0, missing="raise")
    told = as_typed("raise max_seconds or max_iterations, or use Newton(); 'max_seconds' is missing", parsed)
    assert told == "raise --max-seconds or max_iterations, or use Newton(); '--max-seconds' is missing"
    assert as_typed("--max-seconds, x_max_seconds", parsed) == "--max-seconds, x_max_seconds"


def test_one_line__names_the_error_and_folds_its_text() -> None:
    assert one_line(pt.InvalidTableError("first\n  second")) == "InvalidTableError: first second"


def test_main__interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("purtensor.cli.installation.run_info", interrupt)
    assert main(["info"]) == INTERRUPTED
    assert "interrupted" in capsys.readouterr().err


def test_main__interrupted_while_it_projects(
    hired: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pt.IPF, "step", interrupt)
    out = tmp_path / "fair.csv"
    words = ["project", str(hired), "--response", "hired", "--protected", "sex", "--solver", "ipf", "--out", str(out)]
    assert main(words) == INTERRUPTED
    assert capsys.readouterr().err == "purtensor: interrupted\n"
    assert not out.exists()


@pytest.mark.parametrize(("kind", "package"), [("nc", "netCDF4")])
def test_main__refuses_a_file_that_it_could_not_write_before_it_computes(
    kind: str,
    package: str,
    hired: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("computed for nothing")

    monkeypatch.setitem(sys.modules, package, None)
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == package else found(name, *rest)
    )
    monkeypatch.setattr(pt, "project", never)
    out = tmp_path / f"fair.{kind}"
    assert main(["project", str(hired), "--response", "hired", "--protected", "sex", "--out", str(out)]) == BAD_INPUT
    told = capsys.readouterr().err
    assert told.startswith("purtensor: ")
    assert f"need the package {package}: pip install 'purtensor[io]'" in told
    assert told.count("\n") == 1


def test_main__names_an_extra_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def need(arguments: object) -> None:
        raise ModuleNotFoundError("No module named 'matplotlib'", name="matplotlib")

    monkeypatch.setattr("purtensor.cli.installation.run_info", need)
    assert main(["info"]) == BAD_INPUT
    assert capsys.readouterr().err == "purtensor: this command needs matplotlib: pip install 'purtensor[plot]'\n"


@pytest.mark.parametrize("option", ["", "--json"])
def test_main__a_reader_that_leaves_early_is_no_error(option: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m purtensor info {option} | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
