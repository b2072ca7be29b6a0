from __future__ import annotations

import hashlib
from importlib.resources import files

import pandas as pd
import pytest

import purtensor as pt
from purtensor.datasets import adult
from purtensor.datasets.uci_adult import ATTRIBUTES, PAPER

VARIANTS = {
    "count": {},
    "count_train": {"split": "train"},
    "count_test": {"split": "test"},
    "count_amb_private": {"unpaid": "private"},
    "count_amb_gov": {"unpaid": "gov"},
    "count_amb_dropped": {"unpaid": "drop"},
    "count_age25_45": {"age_edges": (25, 45)},
    "count_age25_65": {"age_edges": (25, 65)},
    "count_age30_50": {"age_edges": (30, 50)},
    "count_age30_60": {"age_edges": (30, 60)},
    "count_age35_55": {"age_edges": (35, 55)},
    "count_age35_60": {"age_edges": (35, 60)},
    "count_age40_60": {"age_edges": (40, 60)},
}


def series(table):
    return table.to_series().astype(int)


@pytest.fixture(scope="module")
def published(shared):
    return pd.read_csv(shared / "data" / "registry" / "adult" / "adult_counts_216.csv").set_index(list(PAPER))


@pytest.mark.parametrize("column", VARIANTS)
def test_adult__published_counts(published, column):
    expected = published[column]
    counts = series(adult(**VARIANTS[column]))
    assert counts.index.names == list(PAPER)
    assert counts.gt(0).all()
    pd.testing.assert_series_equal(counts.reindex(expected.index, fill_value=0), expected, check_names=False)
    assert counts.sum() == expected.sum()


def test_adult__all_variants_of_the_published_file_are_tested(published):
    assert set(published.columns) == set(VARIANTS)


def test_adult__category_order_is_meaningful(published):
    levels = adult().indexes["profile"].levels
    for name, level in zip(PAPER, levels, strict=True):
        assert list(level) == list(dict.fromkeys(published.index.get_level_values(name)))


def test_adult__all_rows_have_an_unknown_workclass():
    counts = series(adult(sample="all", attributes=["workclass", "income"]))
    assert counts.sum() == 48_842
    assert counts["unknown"].sum() == 2_799  # UCI: workclass `?`
    assert counts["private"].sum() == 33_906
    assert adult(sample="all").indexes["profile"].levels[4][-1] == "unknown"


def test_adult__marginals_of_the_paper_sample():
    # README of the reference data, "Known marginals at N = 46,043"
    counts = series(adult(attributes=("gender", "race", "income")))
    assert list(counts["female", "non-white"]) == [2_679, 219]
    assert list(counts["female", "white"]) == [10_549, 1_475]
    assert list(counts["male", "non-white"]) == [2_858, 836]
    assert list(counts["male", "white"]) == [18_535, 8_892]


def test_adult__raw_attributes_refine_the_groups():
    for fine, coarse, sizes in (
        ("race5", "race", (5, 2)),
        ("education16", "education", (16, 3)),
        ("workclass9", "workclass", (8, 3)),
        ("age", "age_group", (74, 3)),
    ):
        table = adult(attributes=[fine, coarse])
        assert tuple(len(level) for level in table.indexes["profile"].levels) == sizes
        assert table.sizes["profile"] == sizes[0]  # one group for each raw category
    assert adult(sample="all", unpaid="drop", attributes="workclass9").sizes["profile"] == 7


def test_adult__husbands():
    # issue on feasibility: husbands hold 0.1883 of the mass as high earners and are men but for one row
    counts = series(adult(attributes=["relationship", "income", "gender"]))
    assert round(counts["Husband", ">50K"].sum() / 46_043, 4) == 0.1883
    assert counts["Husband", :, "female"].sum() == 1


def test_adult__split_as_attribute_equals_split_as_option():
    both = series(adult(attributes=["split", "marital_status"]))
    for split, rows in (("train", 30_725), ("test", 15_318)):
        alone = series(adult(split=split, attributes="marital_status"))
        assert alone.sum() == rows
        assert both[split].to_dict() == {key[0]: count for key, count in alone.items()}


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ((40,), ["<40", ">=40"]),
        ((25, 26, 60), ["<25", "25", "26-59", ">=60"]),
        ((20, 40.5, 60), ["<20", "20-40.5", "40.5-60", ">=60"]),
    ],
)
def test_adult__other_age_edges(edges, labels):
    table = adult(age_edges=edges, attributes=["age_group", "age"])
    assert list(table.indexes["profile"].levels[0]) == labels
    for group, age in series(table).index:
        assert labels.index(group) == sum(age >= edge for edge in edges)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_adult__every_attribute_counts_everyone(name):
    table = adult(sample="all", attributes=name)
    assert table.sum() == 48_842
    assert table.sizes["profile"] > 1


def test_adult__unknown_attribute_lists_the_vocabulary():
    with pytest.raises(pt.UnknownAttributeError, match=r"no attribute 'sex'.*income, gender, race.*education16, split"):
        adult(attributes=["income", "sex"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample": "complete"}, "sample must be one of 'paper', 'all'"),
        ({"split": "validation"}, "split must be one of None, 'train', 'test'"),
        ({"unpaid": True}, "unpaid must be one of"),
        ({"age_edges": (55, 30)}, "age_edges must be a sequence"),
        ({"age_edges": 30}, "age_edges must be a sequence"),
        ({"age_edges": ()}, "at least one"),
        ({"age_edges": (30, float("nan"))}, "finite"),
        ({"attributes": []}, "attributes must not be empty"),
    ],
)
def test_adult__impossible_options(options, message):
    with pytest.raises(pt.InvalidOptionError, match=message):
        adult(**options)


def test_adult__repeated_attribute():
    with pytest.raises(pt.InvalidTableError, match="'race' must be named once"):
        adult(attributes=["race", "race"])


def test_adult__answers_do_not_share_state():
    first = adult()
    first.values[:] = 0
    assert adult().sum() == 46_043


def test_adult__embedded_files_are_those_of_the_readme():
    folder = files("purtensor.datasets") / "data"
    readme = (folder / "README.md").read_text()
    names = [entry.name for entry in folder.iterdir() if entry.name.endswith(".gz")]
    assert len(names) == 2
    for name in names:
        data = (folder / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() in readme
        assert f"{len(data):,} bytes" in readme
