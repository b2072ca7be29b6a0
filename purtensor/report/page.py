"""A study as one HTML page that needs no other file and no network."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
except ImportError:  # an optional extra
    Environment = None  # type: ignore[assignment, misc]

from purtensor._optional import require_package
from purtensor.studies.claims import Claim
from purtensor.tables.io.atomic import replace_file

_TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure, a table, or both, under one heading.

    Attributes
    ----------
    title
        The heading.
    text
        What is shown, in a sentence or two.
    paper
        The figure of the paper that it corresponds to; empty when there is none.
    figure
        A file, .svg or .png, whose content is taken into the page.
    table
        Shown in full; numbers are printed with `digits` digits.
    numbers
        The name of the file that has the numbers.
    svg
        A picture as SVG text of our own making, taken into the page as it is.
    """

    title: str
    text: str
    paper: str = ""
    figure: Path | None = None
    table: pd.DataFrame | None = None
    numbers: str = ""
    svg: str = ""
    digits: int = 4


@dataclass(frozen=True, slots=True)
class Part:
    """One data set of a study: what was computed from what, the verdicts, the exhibits.

    `folder` is where the files of its numbers are, as seen from the page, with a slash at its end; empty: beside it.
    """

    title: str
    facts: Mapping[str, str]
    claims: Sequence[Claim]
    exhibits: Sequence[Exhibit]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A study.

    Attributes
    ----------
    title, summary
        What it is, and what was asked, in a paragraph.
    parts
        One a data set.
    settings, versions
        What the numbers depend on.
    """

    title: str
    summary: str
    parts: Sequence[Part]
    settings: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def render(report: Report, made: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the page as HTML; the same report and the same facts on how it was made give the same text.

    Examples
    --------
    >>> from purtensor.studies.claims import Finding
    >>> claim = Claim("PUR removes disparity", Finding.HOLDS, "0 of 35 are beyond noise")
    >>> page = render(Report("A study", "", [Part("1994", {}, [claim], [])]))
    >>> "PUR removes disparity" in page and "holds" in page
    True
    """
    require_package("jinja2", "report", "reports need")
    environment = Environment(
        loader=PackageLoader("purtensor.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["data_uri"] = data_uri
    environment.filters["cell"] = as_cell
    return environment.get_template("page.html.jinja").render(report=report, made=made)


def write_report(report: Report, path: Path, *, command: str = "") -> Path:
    """Write the page and return its path; an interruption leaves no half of it.

    Parameters
    ----------
    command
        What was typed: stated in the page, with the date.
    """
    text = render(report, {"command": command, "date": date.today().isoformat()} if command else {})
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def data_uri(path: Path) -> str:
    """Return a picture as a URI that carries it."""
    content = base64.b64encode(path.read_bytes()).decode()
    return f"data:{_TYPES[path.suffix]};base64,{content}"


def as_cell(value: Any, digits: int = 4) -> str:
    """Return a table's value as text: so many digits, none where there is nothing.

    Examples
    --------
    >>> as_cell(0.123456), as_cell(3.0), as_cell(1.5e-12), as_cell(float("nan")), as_cell("f")
    ('0.1235', '3', '1.5e-12', '', 'f')
    """
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return ""
    return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:.{digits}g}"
