"""What importing costs, and what is said without scikit-learn."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed")


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import__brings_scikit_learn_only_when_used() -> None:
    code = """
import sys
import purtensor as pt
print("sklearn" in sys.modules)
pt.sklearn.Binner
print("sklearn" in sys.modules, "fairlearn" in sys.modules)
"""
    assert run(code).split() == ["False", "True", "False"]


def test_import__names_the_extra_that_is_missing() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
import purtensor as pt
try:
    pt.sklearn
except ModuleNotFoundError as error:
    print(error)
"""
    assert run(code).strip() == "purtensor.sklearn needs scikit-learn: pip install 'purtensor[sklearn]'"
