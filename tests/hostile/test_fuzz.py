"""Some spoilt files for every reader, the same at each run; `python -m tests.hostile.fuzz_readers 60` tries others."""

from __future__ import annotations

import os
import warnings
from random import Random

import pytest

import purtensor as pt
from tests.hostile.fuzz_readers import fuzz
from tests.hostile.readers import READERS, outcome

pytestmark = pytest.mark.slow

FILES = 400 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 12


@pytest.mark.parametrize("name", READERS)
def test_readers__give_the_right_answer_or_refuse_by_name(name, tmp_path):
    reader, random = READERS[name], Random(name)
    seeds, ended = reader.seeds(), set()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", pt.errors.PurtensorWarning)
        for _ in range(FILES):
            content = reader.spoil(random, random.choice(seeds), random.choice(seeds))
            ended.add(outcome(name, content, tmp_path))
    assert ended - {"read"}, "nothing was spoilt"


def test_fuzz__tells_what_a_worker_found(tmp_path, monkeypatch):
    counts = fuzz(0.03, tmp_path / "findings", ["map.csv"])
    assert sum(counts.values()) > 0
    assert {what.split("\t")[0] for what in counts} == {"map.csv"}
    assert not list((tmp_path / "findings").glob("*.file"))
