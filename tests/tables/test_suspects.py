from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from purtensor.tables.suspects import IDENTIFIER, MANY, NUMBER, WEIGHT, suspect

WHOLE = pd.Index(range(40))


@pytest.mark.parametrize(
    "name", ["weight", "pweight", "Freq", "n", "Count", "fnlwgt", "PERWT", "sample_weight", "wt_supp"]
)
def test_suspect__names_of_weights_and_counts(name: str) -> None:
    assert suspect(name, pd.Index([1, 2, 5]), 24).kind == WEIGHT
    assert suspect(name, pd.Index([0.5, 2.25]), 24).kind == WEIGHT
    assert suspect(name, pd.Index(["high", "low"]), 24) is None
    assert suspect(name, pd.Index([-1, 2]), 24) is None


@pytest.mark.parametrize("name", ["country", "nation", "discount_group", "wtf", "sex", "account"])
def test_suspect__other_names_are_attributes(name: str) -> None:
    assert suspect(name, pd.Index([1, 2, 5]), 24) is None


@pytest.mark.parametrize("name", ["__index_level_0__", "id", "case_id", "Unnamed: 0", "anything"])
def test_suspect__row_numbers(name: str) -> None:
    assert suspect(name, pd.Index(np.random.default_rng(1).permutation(100)), 100).kind == IDENTIFIER


def test_suspect__names_of_people_identify_and_few_rows_are_told_apart_by_chance() -> None:
    assert suspect("who", pd.Index([f"p{k}" for k in range(60)]), 100).kind == IDENTIFIER
    assert suspect("who", pd.Index(list("abcde")), 6) is None


def test_suspect__numbers_without_bins_and_many_categories() -> None:
    ages = suspect("age", pd.Index(range(17, 90)), 30_000)
    assert ages.kind == NUMBER
    assert "bins={'age': 'quantiles:4'}" in str(ages)
    assert suspect("income", pd.Index([1.5, 2.0]), 30_000).kind == NUMBER
    assert suspect("age", pd.Index(range(17, 30)), 30_000) is None
    assert suspect("job", pd.Index([f"job {k}" for k in range(300)]), 30_000).kind == MANY
