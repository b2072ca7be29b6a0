from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.tables.domain import Domain, as_attributes, is_same_category, join_some

DOMAIN = Domain(("sex", "age"), (pd.Index(["m", "f"]), pd.Index([1, 0, 2])))


def test_domain__size_is_exact_beyond_64_bits():
    huge = Domain(tuple(f"a{i}" for i in range(40)), (pd.RangeIndex(10),) * 40)
    assert huge.size == 10**40


def test_domain__select_takes_the_order_asked():
    chosen = DOMAIN.select(["age", "sex"])
    assert chosen.attributes == ("age", "sex")
    assert chosen.sizes == (3, 2)


def test_domain__position_names_what_there_is():
    with pytest.raises(pt.UnknownAttributeError, match=r"no attribute 'gender'; this table has sex, age"):
        DOMAIN.position("gender")


def test_domain__code_tells_types_apart():
    assert DOMAIN.code("age", np.int64(0)) == 1
    with pytest.raises(pt.UnknownCategoryError, match="no category True in attribute 'age'; it has 1, 0, 2"):
        DOMAIN.code("age", True)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, np.int8(1), True),
        (True, 1, False),
        (np.True_, True, True),
        ("1", 1, False),
        (0, False, False),
        (1, 1.0, True),
    ],
)
def test_is_same_category__booleans_are_no_numbers(one, other, same):
    assert is_same_category(one, other) is same


def test_listed__counts_the_tail():
    assert join_some(range(5), 3) == "0, 1, 2 and 2 more"
    assert join_some([1]) == "1"


def test_named_attributes__one_name_may_stand_alone():
    assert as_attributes("age", DOMAIN) == ("age",)
    assert as_attributes(iter(["age", "sex"]), DOMAIN) == ("age", "sex")


def test_named_attributes__refuses_repeats_and_strangers():
    with pytest.raises(pt.InvalidTableError, match="'age' must be named once"):
        as_attributes(["age", "sex", "age"], DOMAIN)
    with pytest.raises(pt.UnknownAttributeError, match="'height'"):
        as_attributes(["height"], DOMAIN)
