"""What the project's own files say about each other holds."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import purtensor as pt
from purtensor.cli.parser import build_parser

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "notes" / "examples"
PACKAGE = Path(pt.__file__).resolve().parent
"""Beside the tests, or installed elsewhere."""
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = (ROOT / "README.md").read_text()
TEXT = {".py", ".pyi", ".md", ".toml", ".cff", ".txt", ".csv", ".json", ".yml", ".yaml", ".rst", ".ipynb", ""}


def project_files() -> list[Path]:
    """Return the files of the project: those that git knows, or all that a release holds."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0 and listed.stdout:
        return [path for name in listed.stdout.splitlines() if (path := ROOT / name).is_file()]
    folders = ("purtensor", "tests", "benchmarks", "notes", "paper", ".ci")
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for path in [*ROOT.glob("*.*"), *inside] if path.is_file() and "__pycache__" not in path.parts]


def stub_names() -> list[str]:
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text())
    return [
        alias.asname or alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    ]


def public_objects() -> dict[str, object]:
    """Return what users call: every name of the stub, and the functions of its modules."""
    found: dict[str, object] = {}
    for name in stub_names():
        thing = getattr(pt, name)
        if inspect.ismodule(thing):
            inside = {inner: getattr(thing, inner) for inner in getattr(thing, "__all__", ())}
            found |= {f"{name}.{inner}": own for inner, own in inside.items() if getattr(pt, inner, None) is not own}
        elif inspect.isfunction(thing) or inspect.isclass(thing):
            found[name] = thing
    return found


def test_paper__cites_what_its_bibliography_has_and_nothing_more() -> None:
    cited = set(re.findall(r"@(\w+)", (ROOT / "paper" / "paper.md").read_text()))
    listed = re.findall(r"^@\w+\{(\w+),$", (ROOT / "paper" / "paper.bib").read_text(), flags=re.MULTILINE)
    assert cited == set(listed)
    assert len(listed) == len(set(listed)) >= 10


def test_paper__has_what_a_journal_of_software_asks_for() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    _, front, text = (ROOT / "paper" / "paper.md").read_text().split("---\n", 2)
    told = yaml.safe_load(front)
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(told)
    assert (ROOT / "paper" / told["bibliography"]).is_file()
    assert {author["affiliation"] for author in told["authors"]} <= {one["index"] for one in told["affiliations"]}
    sections = re.findall(r"^# (.+)$", text, re.M)
    assert sections[:3] == ["Summary", "Statement of need", "State of the field"]
    assert {"Software design", "Research impact statement", "Acknowledgements", "References"} <= set(sections)
    assert 750 <= len(text.split()) <= 1750
    entries = (ROOT / "paper" / "paper.bib").read_text().split("\n@")
    for entry in entries:
        assert all(f"  {field} = {{" in entry for field in ("author", "title", "year")), entry


def test_citation__has_what_its_schema_requires() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    told = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert told["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(told)
    known = {
        "abstract",
        "authors",
        "cff-version",
        "commit",
        "contact",
        "date-released",
        "doi",
        "identifiers",
        "keywords",
    }
    known |= {"license", "license-url", "message", "preferred-citation", "references", "repository", "title", "type"}
    assert set(told) <= known | {"repository-artifact", "repository-code", "url", "version"}
    assert told["type"] in ("software", "dataset")
    for reference in told["references"]:
        assert {"authors", "title", "type"} <= set(reference)
        assert all("family-names" in author or "name" in author for author in reference["authors"])
    assert all(re.fullmatch(r"10\.\d{4,9}/\S+", one["doi"]) for one in told["references"] if "doi" in one)


def test_version__is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited is not None
    assert PROJECT["version"] == pt.__version__ == cited[1]


def test_license__is_the_declared_one_everywhere() -> None:
    assert PROJECT["license"] == "BSD-3-Clause"
    assert "license: BSD-3-Clause" in (ROOT / "CITATION.cff").read_text()
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")


def test_files__name_no_machine() -> None:
    places = "|".join(["work", "root", "home/[a-z]", "Users/[A-Za-z]"])
    pattern = re.compile(rf"(?<![\w.:/-])/(?:{places})/")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in project_files()
        if path.suffix in TEXT
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if pattern.search(line)
    ]
    assert found == []


def test_stub__every_name_can_be_imported() -> None:
    names = stub_names()
    assert sorted(names) == sorted(set(names))
    missing = [name for name in names if not hasattr(pt, name)]
    assert missing == []
    assert set(names) <= set(dir(pt))


def test_stub__holds_no_more_names_than_a_reader_takes_in() -> None:
    assert 60 < len(stub_names()) <= 85  # the contract's, what they return, and the modules that have the rest
    for name in ("Diagnosis", "Verdict", "Verification", "Progress", "errors", "plots", "solvers", "convergence"):
        assert name in stub_names()
    assert issubclass(pt.errors.StoreError, pt.PurtensorError)
    assert pt.convergence.convergence_rate is pt.convergence_rate
    assert isinstance(pt.results.Termination.CONVERGED.value, str)


RETURNED = {
    "results.Bootstrap",
    "fairness.Decisions",
    "fairness.Smoothed",
    "problems.NamedProblem",
    "convergence.Forecast",
    "convergence.ObservedRate",
    "results.LogLinearFit",
    "convergence.Prediction",
    "convergence.WeakLink",
    *(
        f"solvers.{name}"
        for name in ("Automatic", "Budget", "Iterate", "Problem", "Record", "Residual", "Solver", "Step")
    ),
    "results.StoredTable",
    "convergence.ConvergenceRate",
    "results.Ensemble",
    "results.Relaxation",
    "Projection",
    "convergence.BestOrder",
    "convergence.BestRelaxation",
    "results.Termination",
    "convergence.Trend",
    "results.StandardErrors",
    "Diagnosis",
    "Verdict",
    "Verification",
    "Progress",
}
"""Classes that nobody calls: the examples of the functions that return them show them."""


@pytest.mark.parametrize("name", [name for name in stub_names() if not name.endswith(("Error", "Warning"))])
def test_examples__of_public_names_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = {key: thing for key, thing in public_objects().items() if key.split(".")[0] == name}
    if not objects:
        pytest.skip(f"{name} is a module without functions of its own, or plain data")
    for key, thing in objects.items():
        if key.endswith(("Error", "Warning")):  # the page of failures shows them
            continue
        tests = doctest.DocTestFinder(recurse=False).find(thing, key)
        assert key in RETURNED or any(test.examples for test in tests), f"{key} has no example"
        for test in tests:
            report: list[str] = []
            (tmp_path / key).mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / key)
            outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
            assert outcome.failed == 0, "".join(report)


CLIENTS = {"cli", "studies"}
"""Folders that use the public names as users do; import-linter holds that no library code imports them."""


def test_layers__nothing_but_clients_imports_the_root() -> None:
    # the root stands on everything, so such an import would go up, past import-linter
    pattern = re.compile(r"^\s*(?:import purtensor(?: as \w+)?|from purtensor import (?!__version__).*)$", re.MULTILINE)
    found = []
    for path in PACKAGE.rglob("*.py"):
        if CLIENTS & set(path.relative_to(PACKAGE).parts):
            continue
        code = ast.parse(path.read_text())
        lines = [ast.unparse(node) for node in ast.walk(code) if isinstance(node, ast.Import | ast.ImportFrom)]
        found += [f"{path.name}: {line}" for line in lines if pattern.match(line)]
    assert found == []


def citations(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield each note that a text cites, with the numbers of the equations."""
    pattern = r"notes/([\w/-]+\.md)(?:,[\s#]+(?:eq\.|equations?)[\s#]+(\d+)(?:[\s#]+(?:to|and)[\s#]+(\d+))?)?"
    for found in re.finditer(pattern, text):
        yield found[1], [int(number) for number in found.groups()[1:] if number]


def equations(note: Path) -> set[int]:
    """Return the numbers of a note's equations: '(3)' at the end of an indented line, or a tag."""
    pattern = r"^(?: {4,}|\t|\$\$|>).*\((\d+)\)\s*(?:\$\$)?$|\\tag\{(\d+)\}"
    return {int(one or other) for one, other in re.findall(pattern, note.read_text(), flags=re.MULTILINE)}


@pytest.mark.parametrize("path", [p for p in project_files() if p.suffix in {".py", ".md"}], ids=lambda p: p.name)
def test_citations__of_notes_resolve(path: Path) -> None:
    if path == Path(__file__).resolve():
        return
    for name, numbers in citations(path.read_text()):
        note = ROOT / "notes" / name
        assert note.is_file(), f"{path.name} cites {name}, which is not there"
        assert set(numbers) <= equations(note), f"{path.name} cites equations {numbers} of {name}"


def test_citations__are_found() -> None:
    text = "as (notes/ipf.md, equation 4), (notes/a/b.md) and (notes/newton.md,\n    # equations 3 to 6)"
    assert list(citations(text)) == [("ipf.md", [4]), ("a/b.md", []), ("newton.md", [3, 6])]


@pytest.mark.parametrize("path", [p for p in project_files() if p.suffix == ".md"], ids=lambda p: p.name)
def test_links__between_the_project_s_texts_resolve(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", path.read_text())
    broken = [target for target in targets if "://" not in target and not _is_there(path.parent / target)]
    assert broken == []


def _is_there(path: Path) -> bool:
    """Return whether a file exists, or is made of an example when the documentation is built."""
    made = re.search(r"/notes/gallery/(?:images/sphx_glr_)?(\w+?)(?:_\d{3}\.png|\.rst)$", path.resolve().as_posix())
    return path.exists() or (made is not None and (made[1] == "index" or (EXAMPLES / f"{made[1]}.py").is_file()))


def test_files__cite_no_text_that_is_elsewhere() -> None:
    here = {path.name for path in project_files() if path.suffix == ".md"}
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in project_files()
        if path.suffix in TEXT and path != Path(__file__).resolve()
        for name in re.findall(r"(?<![\w/.-])(?:\w+/)*([\w-]+\.md),? (?:section|\d)", path.read_text())
        if name not in here
    ]
    assert found == []


def test_notes__are_all_in_the_index() -> None:
    index = (ROOT / "notes" / "index.md").read_text()
    notes = [path.relative_to(ROOT / "notes").as_posix() for path in (ROOT / "notes").rglob("*.md")]
    assert [note for note in notes if note != "index.md" and f"({note})" not in index] == []


OTHER_FIELDS = re.compile(
    r"\b(?:features?|covariates?|margins?|raking|raked?|schemas|histograms?|multiway|contingency tables?|"
    r"sensitive attributes?|design matrix|control totals?|joint distributions?|lagrange|sample spaces?)\b",
    flags=re.IGNORECASE,
)
TRANSLATORS = ("calibration", "compat", "sklearn", "peers", "tutorials", "paper")
"""Folders that speak to users and packages of other fields, in their words."""
OF_WORDS = {
    "bibliography.md",
    "glossary.md",
    "first_steps.md",
    "validation.md",
    "README.md",
    "parser.py",
    "rake.py",
    "arguments.py",
    "weight_commands.py",
}
"""Texts that tell a newcomer which of our words stands for theirs, quote titles and other packages, or have a
command by the name that users look for."""


def test_words__of_other_fields_stay_in_the_glossary() -> None:
    texts = [*PACKAGE.rglob("*.py"), *(path for path in project_files() if path.suffix == ".md")]
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in texts
        if not set(TRANSLATORS) & set(path.parts) and path.name not in OF_WORDS and "tests" not in path.parts
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if OTHER_FIELDS.search(line.replace("purtensor rake", ""))
    ]
    assert found == []
    glossary = (ROOT / "notes" / "glossary.md").read_text()
    assert len(set(map(str.lower, OTHER_FIELDS.findall(glossary)))) > 8


def fenced(text: str, language: str) -> list[str]:
    """Return the fenced blocks of a Markdown text whose fence names this language."""
    blocks = re.findall(r"^```([a-z]*)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    return [block for named, block in blocks if named == language]


def shell_lines(text: str) -> list[list[str]]:
    lines = "\n".join(fenced(text, "")).splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.startswith(("make ", "purtensor "))]


def test_readme__make_targets_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    used = {words[1] for words in shell_lines(README) if words[0] == "make"}
    assert {"demo", "test"} <= used <= targets


def test_readme__commands_parse() -> None:
    commands = [words[1:] for words in shell_lines(README) if words[0] == "purtensor"]
    assert len(commands) >= 3
    for words in commands:
        assert build_parser().parse_args(words).command == words[0]


def test_readme__python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = fenced(README, "python")
    assert blocks
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        test = doctest.DocTestParser().get_doctest(block, {}, "README", "README.md", 0)
        assert test.examples
        report: list[str] = []
        outcome = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
        assert outcome.failed == 0, "".join(report)


def pins_of(name: str) -> dict[str, str]:
    """Return the versions in a file of pins, whose lines are plain."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    pins = {}
    for line in lines:
        found = re.fullmatch(r"([a-z0-9][a-z0-9-]*)==([0-9][\w.]*)(?: *; *[\w\s.<>=\"'-]+)?", line)
        assert found, f"{line!r} is no plain name==version line"
        pins[found[1]] = found[2]
    assert list(pins) == sorted(pins)
    return pins


def test_constraints__are_plain_pins_of_everything_asked_for() -> None:
    pins = pins_of("constraints.txt")
    wanted = [
        *PROJECT["dependencies"],
        *(item for group in PROJECT["optional-dependencies"].values() for item in group),
    ]
    names = {re.split(r"[\[<>=!~; ]", item)[0].lower().replace("_", "-") for item in wanted}
    assert sorted(names - {"purtensor"} - set(pins)) == []


def test_constraints__the_lowest_are_those_that_are_declared() -> None:
    pins = pins_of("constraints-lowest.txt")
    apart = {"lint", "docs", "bench", "peers", "all"}
    extras = [items for group, items in PROJECT["optional-dependencies"].items() if group not in apart]
    for item in [*PROJECT["dependencies"], *(item for items in extras for item in items)]:
        name, floor = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(?:>=([\w.]+))?(?:,.*)?", item).groups()  # type: ignore[union-attr]
        if name != "purtensor":
            assert (pins[name.lower()] + ".0.0").startswith(floor), item
