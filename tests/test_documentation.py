"""The pages of the documentation run, and the reference has every public name."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import purtensor as pt
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


CONTRACT = """
    tabulate empirical regularize uniform marginal to_dense to_sparse save load
    Marginal marginals_of parity utility realism pur coefficients degrees_of_freedom
    diagnose project verify IPF Newton GIS LBFGS relax parity_curve proxies strength_path project_many resume compare
    kl_divergence entropy total_variation pythagorean_defect
    predict attributable_disparity disparity_ratio utility_error
    sample sample_without_replacement round_counts to_records standard_errors
    problems.load datasets.adult datasets.census_wage datasets.gender_pay_gap
    sklearn.PURClassifier sklearn.PURReweigher sklearn.PURResampler sklearn.Binner compat.ipfn compat.mipfp
    PurtensorError UnknownAttributeError UnknownCategoryError InvalidTableError InconsistentTargetsError
    InfeasibleError NotConvergedError TooLargeError
"""
"""The names that the design promises: where one of the lists were read as empty, they would be missing."""


def test_public_names__of_the_contract_are_in_stub_package_and_reference() -> None:
    promised = set(CONTRACT.split())
    assert promised <= {*stub_names(), *public_objects()}
    assert promised <= set(documented_names())
    assert sorted(pt.__all__) == sorted(stub_names()) == sorted(dir(pt))


def test_reference__has_every_public_name_once_and_nothing_else() -> None:
    modules = {key.split(".")[0] for key in public_objects() if "." in key}
    wanted = sorted({*public_objects(), *stub_names()} - modules)
    assert documented_names() == wanted


@pytest.mark.parametrize("page", sorted((NOTES / "reference").glob("*.md")), ids=lambda page: page.stem)
def test_reference__summaries_have_the_names_of_their_page(page: Path) -> None:
    text = page.read_text()
    for block in re.findall(r"\.\. autosummary::\n   :nosignatures:\n\n((?:   [\w.]+\n)+)", text):
        described = re.findall(r"^\.\. auto\w+:: purtensor\.([\w.]+)$", text, re.M)
        assert block.split() == described


FUNCTIONS = {name: thing for name, thing in public_objects().items() if inspect.isfunction(thing)}
WITHOUT_ERRORS = {"problems.families", "problems.names"}
"""They take nothing."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings__name_every_parameter_and_the_errors(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    unnamed = [word for word in inspect.signature(FUNCTIONS[name]).parameters if not re.search(rf"\b{word}\b", text)]
    assert unnamed == [] or re.search(r"[Pp]arameters (?:and errors )?(?:are )?as in `", text), unnamed
    assert name in WITHOUT_ERRORS or re.search(r"\n *Raises\n *---|[Ee]rrors (?:are )?as in `", text)
