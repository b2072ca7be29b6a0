"""How the wage study's data are grouped on request."""

from __future__ import annotations

from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.main import main
from purtensor.cli.parser import build_parser
from purtensor.cli.wage_surveys import groups_asked, read_map, surveys
from purtensor.datasets.census_income import EDUCATION
from purtensor.datasets.sectors import CENSUS_SECTORS


def groups(*words: str) -> dict:
    return groups_asked(build_parser().parse_args(["reproduce", "wage", *words]))


def written(folder: Path, mapping: dict[str, str]) -> str:
    path = folder / "map.csv"
    path.write_text("category,group\n" + "".join(f'"{category}","{group}"\n' for category, group in mapping.items()))
    return str(path)


def test_binning__what_is_not_asked_for_keeps_its_default(tmp_path: Path) -> None:
    assert groups() == {}
    assert groups("--wage-edges", "6", "12", "--age-edges", "40") == {"wage_edges": (6.0, 12.0), "age_edges": (40.0,)}
    assert groups("--cps", "x.csv", "--education-edges", "12", "16") == {"education_edges": (12.0, 16.0)}


def test_surveys__the_embedded_one_in_other_groups(tmp_path: Path) -> None:
    two = {category: "degree" if group == "degree" else "none" for category, group in EDUCATION.items()}
    one = dict.fromkeys(CENSUS_SECTORS, "all")
    education = written(tmp_path, two)
    asked = groups("--wage-edges", "6", "12", "--age-edges", "40", "--education-map", education)
    (sectors := tmp_path / "sectors.csv").write_text(Path(written(tmp_path, one)).read_text())
    written(tmp_path, two)
    asked |= groups("--sector-map", str(sectors))
    ((name, counts, _),) = surveys(None, asked)
    assert name == "CPS 1994-95"
    levels = dict(zip(counts.indexes["profile"].names, counts.indexes["profile"].levels, strict=True))
    assert list(levels["wage_range"]) == ["<6", "6-12", ">=12"]
    assert len(levels["age_group"]) == 2
    assert sorted(levels["education_group"]) == ["degree", "none"]
    assert list(levels["sector"]) == ["all"]
    assert float(counts.sum()) == 16888
    expected = pt.datasets.census_wage(wage_edges=(6, 12), age_edges=(40,), education=two, sectors=one)
    assert counts.equals(expected)


@pytest.mark.parametrize(
    "text",
    [
        "a,b\nx,y\n",
        "category,group\nx,\n",
        "category,group\nx,y\nx,z\n",
        "",
        'category,group\n"x,y\n',
        "category,group\nx,y,z\n",
        "category,group\nx,y\nz\n",
        "category,group\nx,y,u,v\nz,w,u,v\n",
        "category,group\nx\0 and more,y\n",
    ],
)
def test_read_map__refuses(tmp_path: Path, text: str) -> None:
    (tmp_path / "map.csv").write_text(text)
    with pytest.raises(pt.errors.FileFormatError, match=r"map\.csv"):
        read_map(tmp_path / "map.csv")


def test_reproduce_wage__options_of_the_other_data_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["reproduce", "wage", "--out", str(tmp_path / "out")]
    assert main([*words, "--education-edges", "12"]) == 2
    assert "--education-map" in capsys.readouterr().err
    assert main([*words, "--cps", "x.csv", "--education-map", "map.csv"]) == 2
    assert "--education-edges" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
