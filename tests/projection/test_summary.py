"""What results tell about themselves shows labels as they are, and never as HTML."""

from __future__ import annotations

from dataclasses import replace

import pytest
import xarray as xr

import purtensor as pt
from purtensor.projection.summary import facts_as_html, facts_as_text


@pytest.fixture(scope="module")
def reference() -> xr.DataArray:
    records = {"<b>x": ["p", "q", "p", "q"], "y & z": ["<i>", "<i>", "v", "v"]}
    return pt.tabulate(records, weights=[1, 2, 3, 5])


def test_facts_as_html__names_and_values_are_escaped_and_empty_ones_left_out() -> None:
    html = facts_as_html("Projection", {"a <b>": "1 < 2 & 3", "empty": "", "proved": "D <= 1"})
    assert html == (
        "<table><caption>purtensor.Projection</caption><tr><th>a &lt;b&gt;</th><td>1 &lt; 2 &amp; 3</td></tr>"
        "<tr><th>proved</th><td>D &lt;= 1</td></tr></table>"
    )


def test_facts_as_text__one_line_a_fact() -> None:
    told = facts_as_text("Relaxation", {"a <b>": "1 < 2", "empty": ""})
    assert told == "<purtensor.Relaxation>\n  a <b>: 1 < 2"


def test_relaxation__its_attributes_are_no_html(reference: xr.DataArray) -> None:
    html = pt.relax(reference, pt.marginals_of(reference, ["<b>x"]), soft=0)._repr_html_()
    assert "<th>missed of &lt;b&gt;x</th>" in html
    assert "<b>" not in html
    assert "<td></td>" not in html


def test_projection__its_notes_are_no_html(reference: xr.DataArray) -> None:
    projected = replace(pt.project(reference, pt.marginals_of(reference, ["<b>x"])), notes=("left out: <b>x=p",))
    assert "left out: <b>x=p" in repr(projected)
    assert "<td>left out: &lt;b&gt;x=p</td>" in projected._repr_html_()
    assert "<b>" not in projected._repr_html_()
