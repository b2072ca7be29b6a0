"""Errors as data: codes that the reference lists, facts that programs read, whole across processes."""

from __future__ import annotations

import ast
import importlib
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import purtensor as pt
from purtensor import errors

ROOT = Path(__file__).parent.parent
CLASSES = [thing for name, thing in vars(errors).items() if name[0] != "_" and name.endswith("Error")]


def test_codes__are_listed_on_the_generated_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "notes")
    generated = importlib.import_module("generated_pages")
    generated.write_codes(tmp_path / "codes.rst")
    page = (tmp_path / "codes.rst").read_text()
    rows = re.findall(r"   \* - ``([a-z-]+)``\n     - :py:class:`~purtensor.errors.(\w+)`\n     - \w.+$", page, re.M)
    in_code = {
        code
        for file in (ROOT / "purtensor").rglob("*.py")
        for code in re.findall(r"code=\"([a-z-]+)\"", file.read_text())
    }
    of_classes = {thing.code for thing in CLASSES if thing is not pt.PurtensorError}
    assert {code for code, _ in rows} == in_code | of_classes
    assert set(generated.MEANINGS) == in_code
    assert all(issubclass(getattr(errors, name), pt.PurtensorError) for _, name in rows)
    assert len(of_classes) == len(CLASSES) - 1


def test_facts__are_data_that_json_holds() -> None:
    with pytest.raises(pt.UnknownCategoryError) as caught:
        pt.tabulate({"n": [1, 2]}).pipe(lambda counts: pt.weights({"n": ["1"]}, counts))
    facts = json.loads(json.dumps(caught.value.facts()))
    assert facts["code"] == "unknown-category"
    assert facts["where"] == "n"
    assert facts["expected"] == [1, 2]
    assert facts["got"] == "1"
    assert facts["hint"] == "did you mean 1 (int)?"
    assert facts["message"].endswith(facts["hint"])


def test_facts__of_files_and_options(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n?,1\nx,2\n")
    with pytest.raises(pt.InvalidTableError) as caught:
        pt.tabulate(tmp_path / "t.csv")
    assert caught.value.facts()["code"] == "spelled-missing"
    assert caught.value.facts()["got"] == ["?"]
    with pytest.raises(errors.MissingFileError) as gone:
        pt.tabulate(tmp_path / "gone.csv")
    assert gone.value.facts()["where"] == str(tmp_path / "gone.csv")
    assert gone.value.facts()["code"] == "missing-file"
    with pytest.raises(pt.InvalidOptionError) as option:
        pt.tabulate({"a": [1]}, missing="skip")
    assert (option.value.where, option.value.expected, option.value.got) == (
        "missing",
        ["raise", "drop", "category"],
        "skip",
    )


def test_facts__survive_a_process_boundary() -> None:
    for error in (
        pt.InvalidTableError("what came; what to do", code="bad-weight", where="w", got=3),
        pt.TooLargeError("too much", 3, 2, where="x"),
        pt.InfeasibleError("no", where="y"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert again.facts() == error.facts()
    assert pt.InvalidTableError("what came; give something else").facts()["hint"] == "give something else"
    with pytest.raises(TypeError, match="no attribute 'reason'"):
        pt.InvalidTableError("what", reason="why")


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        ("tolerance must be in [0, 1), got 5", ("tolerance", "in [0, 1)", "5")),
        ("--rows must be 1 or more, got 'x'; ask for fewer", ("--rows", "1 or more", "'x'")),
        ("the table is empty", (None, pt.InvalidTableError.expected, "the table is empty")),
        (
            "attribute 'a' has text; numbers are needed",
            ("attribute 'a'", "numbers are needed", "attribute 'a' has text"),
        ),
    ],
)
def test_facts__are_read_from_messages_that_tell_what_must_be_and_what_came(message: str, facts: tuple) -> None:
    error = pt.InvalidTableError(message)
    assert (error.where, error.expected, error.got) == facts
    assert pt.InvalidOptionError(message, where="elsewhere", expected=1, got=2).got == 2
    assert pickle.loads(pickle.dumps(error)).facts() == error.facts()


def raised_in_the_package() -> Iterator[tuple[str, type, list[str], str]]:
    """Yield each place that makes an error: where it is, the class, the facts that it gives, and its message."""
    for file in sorted((ROOT / "purtensor").rglob("*.py")):
        for call in ast.walk(ast.parse(file.read_text())):
            kind = getattr(errors, call.func.id, None) if isinstance(getattr(call, "func", None), ast.Name) else None
            if isinstance(kind, type) and issubclass(kind, pt.PurtensorError) and call.args:
                pieces = call.args[0].values if isinstance(call.args[0], ast.JoinedStr) else [call.args[0]]
                texts = [piece.value if isinstance(piece, ast.Constant) else "'x'" for piece in pieces]
                given = [word.arg for word in call.keywords if word.arg]
                yield f"{file.relative_to(ROOT)}:{call.lineno}", kind, given, "".join(map(str, texts))


def test_facts__of_every_error_say_what_was_expected_what_came_and_what_to_do() -> None:
    places = list(raised_in_the_package())
    assert len(places) > 500
    for place, kind, given, message in places:
        needs = (3, 2) if kind is pt.TooLargeError else ()
        error = kind(message, *needs)
        facts = {name: fact for name, fact in error.facts().items() if name not in given}
        for name in ("expected", "got", "hint"):
            assert facts.get(name, "given"), (place, name, message)
        assert facts.get("hint") != "see the message", (place, message)
        if " must be " in message and ", got " in message:
            # a message of the usual form is read, and does not fall back on what holds for its class
            assert facts.get("expected") != kind.expected, (place, message)
            assert facts.get("got") != message, (place, message)


def test_facts__say_which_function_was_called_where_no_option_is_concerned() -> None:
    counts = pt.tabulate({"a": [1, 2]})
    with pytest.raises(pt.InvalidTableError) as caught:
        pt.empirical(counts * 0)
    assert caught.value.where is None
    assert caught.value.facts()["where"] == "purtensor.tables.regularize.empirical"
    assert pt.InvalidTableError("never raised").facts()["where"] is None
