"""`purtensor diagnose`, and how `purtensor project` ends where nothing meets the constraints."""

from __future__ import annotations

from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.main import main
from purtensor.feasibility.verdict import Verdict

PROXY = "y,s,x,count\n0,0,0,3\n1,0,0,2\n0,1,1,1\n1,1,1,4\n"
FREE = "y,s,x,count\n" + "".join(f"{y},{s},{x},{2 + y + s * x}\n" for y in (0, 1) for s in (0, 1) for x in (0, 1))
EDGE = "y,s,x,count\n0,0,0,70\n1,0,0,50\n0,1,1,30\n1,1,1,90\n0,0,1,10\n1,0,1,10\n0,1,0,10\n1,1,0,10\n"
ROLES = ("--response", "y", "--protected", "s")


def run(folder: Path, text: str, *words: str, command: str = "diagnose") -> int:
    path = folder / "data.csv"
    path.write_text(text)
    return main([command, str(path), *ROLES, *words])


def test_diagnose__of_a_proxy_ends_with_three_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, PROXY, "--strength", "0") == 3
    printed = capsys.readouterr().out
    assert "4 supported of 8" in printed
    assert "a certificate, checked (rational)" in printed
    assert "y=1, s=0 needs 0.3. It can only lie in y=1, x=0, which may hold 0.2." in printed
    assert "missed by at least 0.4 in L1" in printed
    assert [line.split() for line in printed.splitlines() if line.startswith(("needs", "has room"))] == [
        ["needs", "y=1,", "s=0", "(y,", "s)", "0.3"],
        ["has", "room", "for", "y=1,", "x=0", "(y,", "x)", "0.2"],
    ]


def test_diagnose__of_what_can_be_met_ends_with_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, FREE) == 0
    printed = capsys.readouterr().out
    assert "interior" in printed
    assert "a solution, checked (rational)" in printed
    assert "implied zeros" not in printed


def test_diagnose__on_the_edge_counts_what_must_be_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # the proxy with a twentieth added to all profiles: y=1 at s=0 takes all of (y=1, x=0) and of (s=0, x=1)
    assert run(tmp_path, EDGE, "--strength", "0") == 0
    printed = capsys.readouterr().out
    assert "boundary" in printed
    assert "implied zeros  2 of 8 profiles" in printed
    assert "what takes the mass" in printed


def test_diagnose__asks_the_letters_that_are_given(tmp_path: Path) -> None:
    assert run(tmp_path, PROXY, "--strength", "0", "--conditions", "PR") == 0
    assert run(tmp_path, PROXY, "--strength", "0", "--conditions", "PU") == 3
    assert run(tmp_path, PROXY, "--strength", "0", "--conditions", "PUR") == 3
    assert run(tmp_path, PROXY, "--strength", "0", "--conditions", "PX") == 2


def test_diagnose__what_is_not_decided_ends_with_four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Undecided:
        def __init__(self, found: object) -> None:
            self.found = found
            self.verdict = Verdict.OPEN

        def __getattr__(self, name: str) -> object:
            return getattr(self.found, name)

    known = pt.diagnose
    monkeypatch.setattr(pt, "diagnose", lambda *question, **bounds: Undecided(known(*question, **bounds)))
    assert run(tmp_path, FREE) == 4


def test_project__of_a_proxy_ends_with_three_and_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fair.csv"
    assert run(tmp_path, PROXY, "--out", str(out), command="project") == 3
    told = capsys.readouterr().err
    assert told.startswith("purtensor: InfeasibleError: ")
    assert told.count("\n") == 1
    assert "y=1, s=0 needs 0.3. It can only lie in y=1, x=0, which may hold 0.2." in told
    assert not out.exists()


BOUNDED = "y,s,x,count\n" + "".join(
    f"{y},{s},{x},{20 + 15 * (y == s)}\n" for y in (0, 1) for s in (0, 1) for x in (0, 1)
)


def test_diagnose__within_bounds_says_what_conflicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, BOUNDED, "--strength", "0", "--ratio-bounds", "0.9", "1.1") == 3
    printed = capsys.readouterr().out
    assert "infeasible" in printed
    assert "checked in fractions" in printed
    assert "with weights between 0.9 and 1.1 times, y=0, s=1 can reach 0.2, target 0.25" in " ".join(printed.split())
    assert "what must give way" in printed
    assert run(tmp_path, BOUNDED, "--strength", "0", "--ratio-bounds", "0.5", "2") == 0


def test_project__within_bounds_counts_what_is_at_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "fair.csv"
    bounds = ("--strength", "0", "--ratio-bounds", "0.7", "1.4")
    assert run(tmp_path, BOUNDED, *bounds, "--out", str(out), command="project") == 0
    assert "0 profiles at the lower one, 0 at the upper" in capsys.readouterr().out
    assert out.exists()


def test_diagnose_and_project__begin_with_the_column_that_makes_it_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["paid,sex,spouse,team"]
    for k in range(120):
        sex = "fm"[k % 2]
        paid = "much" if (k % 2 and k % 3) or k % 11 == 0 else "little"
        rows.append(f"{paid},{sex},{'husband' if sex == 'f' else 'wife'},{'abc'[k // 2 % 3]}")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    words = ["people.csv", "--response", "paid", "--protected", "sex"]
    assert main(["project", *words, "--out", "fair.csv"]) == 3
    told = capsys.readouterr().err
    assert "'spouse' reveals the protected attributes" in told
    assert "without 'spouse' they can be met" in told
    assert len(told) < 900
    assert main(["diagnose", *words]) == 3
    short = capsys.readouterr().out
    assert "'spouse' reveals the protected attributes" in short
    assert main(["diagnose", *words, "--proof"]) == 3
    assert "what conflicts" in capsys.readouterr().out
    assert main(["project", *words, "--unprotected", "team", "--out", "fair.csv"]) == 0
