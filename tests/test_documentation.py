"""The pages of the documentation run, and the reference has every public name."""

from __future__ import annotations

import builtins
import doctest
import importlib
import inspect
import re
import shlex
from pathlib import Path

import pytest

import purtensor as pt
from purtensor import errors
from purtensor.cli.parser import build_parser
from tests.test_project_files import PACKAGE, PROJECT, ROOT, equations, fenced, public_objects, stub_names

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
    """Return the names that have a page in the reference: those of its summaries, and modules that are shown whole."""
    pages = [page.read_text() for page in sorted((NOTES / "reference").glob("*.md"))]
    modules = [re.findall(r"^\.\. automodule:: purtensor\.([\w.]+)$", page, re.M) for page in pages]
    return sorted(name for page in [*map(summaries, pages), *modules] for name in page)


def summaries(page: str) -> list[str]:
    blocks = re.findall(r"\.\. autosummary::\n   :toctree: names\n   :nosignatures:\n\n((?:   [\w.]+\n)+)", page)
    return " ".join(blocks).split()


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


MADE_BY_OURS = {
    "calibration.estimates.Estimate",
    "calibration.tightest_bounds.TightestBounds",
    "constraints.between.Between",
    "constraints.coefficients.Coefficients",
    "constraints.rank.redundancy.RedundantRow",
    "constraints.ratios.Ratio",
    "constraints.rows.Cells",
    "constraints.rows.RowBlock",
    "constraints.soft.Soft",
    "constraints.totals.Total",
    "fairness.rate_comparisons.RateComparison",
    "feasibility.explanation.Explanation",
    "projection.executing.Failure",
}
"""Classes that users are given and read; none of them is for users to make."""


def test_reference__has_every_public_name_once_and_what_users_are_given() -> None:
    modules = {key.split(".")[0] for key in public_objects() if "." in key}
    wanted = {*public_objects(), *stub_names()} - modules
    assert not wanted & MADE_BY_OURS
    assert documented_names() == sorted(wanted | MADE_BY_OURS)


def test_reference__has_no_directive_that_the_test_of_names_does_not_see() -> None:
    text = "".join(page.read_text() for page in (NOTES / "reference").glob("*.md"))
    found = set(re.findall(r"^\.\. (\w+)::", text, re.M))
    assert found == {"currentmodule", "autosummary", "automodule"}
    assert text.count("autosummary::") == text.count(":toctree: names\n   :nosignatures:\n\n")


def test_reference__lists_every_problem_with_its_size() -> None:
    rows = re.findall(r"^\| (`.+?) \| .+ \| (.+) \|$", (NOTES / "reference" / "problems.md").read_text(), re.M)
    listed = [(re.findall(r"`(\w+)`", names), sizes.split("; ")) for names, sizes in rows]
    assert sorted(name for names, _ in listed for name in names) == sorted(pt.problems.names())
    for names, sizes in listed:
        for name, size in zip(names, sizes, strict=False):
            if size.replace(",", "").isdecimal() and int(size.replace(",", "")) < 10_000:
                assert pt.problems.load(name).profiles == int(size.replace(",", "")), name


FUNCTIONS = {name: thing for name, thing in public_objects().items() if inspect.isfunction(thing)}
WITHOUT_ERRORS = {"problems.families", "problems.names"}
"""They take nothing."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings__name_every_parameter_and_the_errors(name: str) -> None:
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    unnamed = [word for word in inspect.signature(FUNCTIONS[name]).parameters if not re.search(rf"\b{word}\b", text)]
    assert unnamed == [] or re.search(r"[Pp]arameters (?:and errors )?(?:are )?as in `", text), unnamed
    assert name in WITHOUT_ERRORS or re.search(r"\n *Raises\n *---|[Ee]rrors (?:are )?as in `", text)


def test_failures__page_has_every_error_class_with_its_built_in_kinds() -> None:
    page = (NOTES / "failures.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|", page, re.M)
    classes = {
        name: thing
        for name, thing in vars(errors).items()
        if inspect.isclass(thing) and name[0] != "_" and thing.__module__ == errors.__name__
    }
    named = [name for name in classes if name.endswith("Error") and name != "PurtensorError"]
    assert sorted(name for name, _ in rows) == sorted(named)
    for name, kinds in rows:
        for kind in re.findall(r"\w+", kinds):
            assert issubclass(classes[name], getattr(builtins, kind, None) or classes[kind]), f"{name} is no {kind}"
    shown = set(re.findall(r"^(\w+(?:Error|Warning)): ", page, re.M))
    wanted = {name for name in classes if name not in {"PurtensorError", "PurtensorWarning"}}
    assert wanted - shown <= {"ForbiddenFileError", "UnreadableFileError"}  # who runs as root may open every file
    assert {f"`{name}`" for name in wanted} <= set(re.findall(r"`\w+`", page))


PLACE = re.compile(r"`((?:purtensor|tests|benchmarks|notes)/[\w./]*|[\w-]+\.(?:py|toml|txt|md))`")


def unknown_places(text: str) -> list[str]:
    """Return the paths in backticks that are not there; a name alone lies beside what its paragraph named before."""
    missing = []
    for paragraph in re.split(r"\n\s*\n|\n(?=[|-])", text):
        folders = [ROOT, NOTES]
        for name in PLACE.findall(paragraph):
            found = next((path for folder in folders if (path := folder / name).exists()), None)
            if name.startswith("purtensor/"):
                found = PACKAGE.parent / name if (PACKAGE.parent / name).exists() else None
            if found is None:
                missing.append(name)
            elif "/" in name:
                folders.insert(0, found if found.is_dir() else found.parent)
    return missing


TEXTS = [*sorted(NOTES.rglob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
each_text = pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)


@each_text
def test_texts__name_files_that_are_there(page: Path) -> None:
    assert unknown_places(page.read_text()) == []


def test_texts__names_of_files_that_are_not_there_are_found() -> None:
    text = (
        "`purtensor/errors.py`, `information.py`, `errors.txt`\n\n`information.py`, `tests/test_none.py`, `README.md`"
    )
    assert unknown_places(text) == ["errors.txt", "information.py", "tests/test_none.py"]


@each_text
def test_texts__name_what_can_be_imported(page: Path) -> None:
    options = {"purtensor.worker-seconds", "purtensor.part-profiles"}  # of dask
    names = set(re.findall(r"`((?:purtensor|pt)\.[\w.-]+)", page.read_text()))
    for name in names - options:
        place, thing = name.rstrip(".").split(".")[1:], pt
        for k, part in enumerate(place):
            if inspect.ismodule(thing) and not hasattr(thing, part):
                importlib.import_module(".".join(["purtensor", *place[: k + 1]]))
            thing = getattr(thing, part)


@each_text
def test_texts__give_commands_that_exist(page: Path) -> None:
    text = page.read_text()
    shown = [line.removeprefix("$ ") for block in fenced(text, "") for line in block.splitlines()]
    inline = [code for code in re.findall(r"`([a-z]+ [^`\n]+)`", text) if "..." not in code]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    for line in [*shown, *inline]:
        match shlex.split(line, comments=True):
            case ["purtensor", command, *options] if line in shown or "--response" in options:
                assert build_parser().parse_args([command, *options]).command == command
            case ["make", *words]:
                assert {word for word in words if "=" not in word} <= targets, line
            case ["python", "-m", module, *_] if module.startswith(("benchmarks.", "tests.")):
                assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file(), line
            case ["python", script, *_] if script.endswith(".py"):
                assert (ROOT / script).is_file(), line


DERIVATIONS = [note for note in sorted(NOTES.glob("*.md")) if equations(note)]


@pytest.mark.parametrize("note", DERIVATIONS, ids=lambda note: note.stem)
def test_derivations__say_where_they_are_implemented_and_tested(note: Path) -> None:
    paragraph = re.search(r"^\*\*In the code\.\*\* (.+?)(?:\n\n|\Z)", note.read_text(), re.M | re.S)
    assert paragraph, f"{note.name} has equations, and does not say where they are implemented"
    assert "`purtensor/" in paragraph[1]
    assert "`tests/" in paragraph[1]


@pytest.mark.parametrize("note", DERIVATIONS, ids=lambda note: note.stem)
def test_derivations__say_who_did_it_first(note: Path) -> None:
    paragraph = re.search(r"^\*\*Who did it first\*\* (.+?)\n\n", note.read_text(), re.M | re.S)
    assert paragraph, f"{note.name} has equations, and does not say who did it first"
    entries = " ".join((NOTES / "bibliography.md").read_text().split()).split(" - ")
    told = " ".join(paragraph[1].split())
    cited = re.findall(r"([^\W\d_][\w'-]+?)(?:'s)?(?:,? and [^\W\d_][\w'-]+)? \(?((?:18|19|20)\d\d)\)?", told)
    assert cited, f"{note.name} cites nobody"
    for name, year in cited:
        assert any(name in entry and f"({year})" in entry for entry in entries), f"{name} ({year}) is not listed"


def test_derivations__are_those_with_equations() -> None:
    assert {"ipf", "newton", "certificate", "duality", "rates"} <= {note.stem for note in DERIVATIONS}


def test_paper__each_statement_is_implemented_and_tested() -> None:
    formulas, _, studies = (NOTES / "paper.md").read_text().partition("## What the studies say")
    assert studies.count("| holds") + studies.count("cannot") >= 15
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \|$", formulas, re.M)[1:]
    assert len(rows) >= 17
    for statement, implemented, tested in rows:
        names = re.findall(r"`(\w+)`", implemented)
        assert all(hasattr(pt, name) for name in names), statement
        assert names or re.search(r"`purtensor |\]\(\w+\.md\)", implemented), statement
        assert "`tests/" in tested, statement


def test_first_steps__list_every_extra_that_is_for_users() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| .+ \|$", (NOTES / "first_steps.md").read_text(), re.M)
    listed = [name for row in rows for name in re.findall(r"\w+", row)]
    assert sorted(listed) == sorted(PROJECT["optional-dependencies"].keys() - {"test", "lint", "docs", "bench"})
