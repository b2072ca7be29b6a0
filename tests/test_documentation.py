"""The pages of the documentation run, and the reference has every public name."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.test_project_files import ROOT, fenced, public_objects, stub_names

NOTES = ROOT / "notes"
ELSEWHERE = {"scikit_learn.md"}
"""Run by the tests of the estimators, where its packages may be missing."""

PAGES = [page for page in sorted(NOTES.rglob("*.md")) if ">>>" in page.read_text() and page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages__run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = "\n".join(fenced(page.read_text(), "python"))
    test = doctest.DocTestParser().get_doctest(code, {}, page.stem, page.name, 0)
    report: list[str] = []
    outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert test.examples
    assert outcome.failed == 0, "".join(report)


def documented_names() -> list[str]:
    pages = [page.read_text() for page in (NOTES / "reference").glob("*.md")]
    found = [
        re.findall(r"^\.\. auto(?:function|class|exception|module):: purtensor\.([\w.]+)$", page, re.M)
        for page in pages
    ]
    return sorted(name for page in found for name in page)


def test_reference__has_every_public_name_once_and_nothing_else() -> None:
    modules = {key.split(".")[0] for key in public_objects() if "." in key}
    wanted = sorted({*public_objects(), *stub_names()} - modules)
    assert documented_names() == wanted


@pytest.mark.parametrize("page", sorted((NOTES / "reference").glob("*.md")), ids=lambda page: page.stem)
def test_reference__summaries_have_the_names_of_their_page(page: Path) -> None:
    text = page.read_text()
    for block in re.findall(r"\.\. autosummary::\n\n((?:   [\w.]+\n)+)", text):
        described = re.findall(r"^\.\. auto\w+:: purtensor\.([\w.]+)$", text, re.M)
        assert block.split() == described
