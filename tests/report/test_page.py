"""Reports: everything is inside one page, and every number of it is the study's."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from purtensor.report.page import Exhibit, Part, Report, as_cell, data_uri, render, write_report
from purtensor.studies.claims import Claim, Finding

HOLDS = Claim("PUR removes disparity", Finding.HOLDS, "0 of 35 beyond noise")
FAILS = Claim("P removes <everything>", Finding.FAILS, "18 of 35 beyond noise")


def report(tmp_path: Path, **changes: object) -> Report:
    picture = tmp_path / "figure.svg"
    picture.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    table = pd.DataFrame({"projection": ["P", "PUR"], "largest residual": [1.25e-12, np.nan], "sets": [10, 9]})
    exhibits = [
        Exhibit("Disparity", "By group.", paper="figure 3", figure=picture, numbers="disparities.csv"),
        Exhibit("Certificates", "How well it is solved.", table=table),
    ]
    parts = [Part("1994", {"SHA-256": "abc123", "none": ""}, [HOLDS, FAILS], exhibits)]
    return Report("A study", "What was asked", changes.get("parts", parts), {"seed": "7"}, {"numpy": "2.4"})


class Reader(HTMLParser):
    """Collects what a page refers to, and whether its elements are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.references += [value for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


def test_render__refers_to_its_numbers_and_otherwise_to_nothing_outside_of_the_page(tmp_path: Path) -> None:
    reader = Reader()
    reader.feed(render(report(tmp_path)))
    assert reader.open == []
    assert reader.references
    assert [where for where in reader.references if not where.startswith(("data:", "#"))] == ["disparities.csv"]


def test_render__contents_lead_to_every_heading(tmp_path: Path) -> None:
    page = render(report(tmp_path))
    targets = re.findall(r'<li><a href="#([\w-]+)">', page)
    assert targets == ["part1", "part1-1", "part1-2", "made"]
    assert all(f'id="{target}"' in page for target in targets)


def test_render__numbers_are_linked_where_they_are() -> None:
    part = Part("1994", {}, [], [Exhibit("Numbers", "", numbers="a b.csv, c.csv")], folder="1994/")
    links = re.findall(r'<a href="([^#"]+)">(.*?)</a>', render(Report("A study", "", [part])))
    assert links == [("1994/a%20b.csv", "a b.csv"), ("1994/c.csv", "c.csv")]


def test_write_report__tells_the_command_with_its_date(tmp_path: Path) -> None:
    page = write_report(report(tmp_path), tmp_path / "page.html", command="purtensor compare 'a b'").read_text()
    assert "<dt>command</dt><dd>purtensor compare &#39;a b&#39;</dd>" in page
    assert re.search(r"<dt>date</dt><dd>\d{4}-\d\d-\d\d</dd>", page)
    assert "<dt>date</dt>" not in render(report(tmp_path))


def test_render__tells_claims_facts_settings_and_tables(tmp_path: Path) -> None:
    page = render(report(tmp_path))
    for text in ("A study", "What was asked", "abc123", "figure 3", "disparities.csv", "1.25e-12", "2.4", "seed"):
        assert text in page
    assert "<dt>none</dt>" not in page
    rows = re.findall(r"<tr><td>(.*?)</td><td class=\"(\w+)\">(.*?)</td><td>(.*?)</td></tr>", page)
    assert rows == [
        ("PUR removes disparity", "holds", "✓ holds", "0 of 35 beyond noise"),
        ("P removes &lt;everything&gt;", "fails", "✗ does not hold", "18 of 35 beyond noise"),
    ]


def test_render__carries_the_picture(tmp_path: Path) -> None:
    page = render(report(tmp_path))
    content = re.search(r"data:image/svg\+xml;base64,([^\"]+)", page)
    assert content is not None
    assert base64.b64decode(content[1]) == (tmp_path / "figure.svg").read_bytes()


def test_render__same_report_same_page(tmp_path: Path) -> None:
    assert render(report(tmp_path)) == render(report(tmp_path))
    changed = report(tmp_path, parts=[Part("1994", {"SHA-256": "abc124"}, [HOLDS], [])])
    assert render(changed) != render(report(tmp_path))


def test_render__links_its_parts_when_there_are_several() -> None:
    parts = [Part(year, {}, [], []) for year in ("1981", "1990")]
    page = render(Report("A study", "", parts))
    assert 'href="#part2"' in page
    assert 'id="part2"' in page
    assert "<nav>" not in render(Report("A study", "", parts[:1]))


def test_write_report__is_what_render_says(tmp_path: Path) -> None:
    path = write_report(report(tmp_path), tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == render(report(tmp_path))


def test_data_uri__by_ending(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    assert data_uri(tmp_path / "a.png") == "data:image/png;base64,iVBORw=="


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345678, "0.1235"), (16888.0, "16888"), (12, "12"), (np.nan, ""), ("P", "P"), (0.0, "0")]
)
def test_as_cell__as_printed(value: object, text: str) -> None:
    assert as_cell(value) == text


@pytest.mark.parametrize(("finding", "mark"), [(Finding.HOLDS, "✓"), (Finding.FAILS, "✗"), (Finding.UNTOLD_YEARS, "?")])
def test_render__marks_what_holds_what_does_not_and_what_the_numbers_leave_open(tmp_path, finding, mark):
    page = render(report(tmp_path, parts=[Part("1994", {}, [Claim("it is so", finding, "seen")], [])]))
    assert f"{mark} {finding.value}" in page
