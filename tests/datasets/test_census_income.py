from __future__ import annotations

import pandas as pd
import pytest

import purtensor as pt
from purtensor.datasets import census_wage
from purtensor.datasets.census_income import ATTRIBUTES, EDUCATION, WAGE_STUDY
from purtensor.datasets.sectors import CENSUS_SECTORS


def series(table):
    return table.to_series().astype(int)


@pytest.fixture(scope="module")
def published(shared):
    path = shared / "data" / "registry" / "kdd_census_income" / "kdd_wage_counts.csv"
    return pd.read_csv(path).set_index(list(WAGE_STUDY))["count"]


def test_census_wage__published_counts(published):
    counts = series(census_wage())
    assert len(published) == 3_840
    assert (counts > 0).all()
    pd.testing.assert_series_equal(counts.reindex(published.index, fill_value=0), published, check_names=False)
    assert counts.sum() == published.sum() == 16_888
    assert (published == 0).sum() == 1_739


def test_census_wage__category_order_is_that_of_the_published_file(published):
    for name, level in zip(WAGE_STUDY, census_wage().indexes["profile"].levels, strict=True):
        assert list(level) == list(dict.fromkeys(published.index.get_level_values(name)))


def test_census_wage__observed_predictor_profiles():
    # README of the reference data: 658 of the 768 predictor profiles are observed
    assert census_wage(attributes=WAGE_STUDY[1:]).sizes["profile"] == 658


def test_census_wage__years_and_splits_add_up():
    whole = series(census_wage(attributes=["year", "split"]))
    # counted in the source file
    assert whole.groupby("year").sum().to_dict() == {1994: 8_426, 1995: 8_462}
    assert whole.groupby("split").sum().to_dict() == {"train": 11_304, "test": 5_584}
    for (year, split), count in whole.items():
        assert census_wage(year=year, split=split, attributes="gender").sum() == count


def test_census_wage__other_bins(shared):
    path = shared / "data" / "registry" / "kdd_census_income" / "kdd_hourly_wage_16888.csv.gz"
    rows = pd.read_csv(path, keep_default_na=False)
    schooling = {label: "college" if EDUCATION[label] == "degree" else "no college" for label in EDUCATION}
    industry = {label: "factory" if label.startswith("Manufacturing") else "other" for label in CENSUS_SECTORS}
    table = census_wage(
        wage_edges=(10.95,),
        age_edges=(20, 40, 60),
        education=schooling,
        sectors=industry,
        attributes=["wage_range", "age_group", "education_group", "sector"],
    )
    expected = rows.groupby(
        [
            rows["wage_per_hour"].map(lambda cents: ">=10.95" if cents >= 1095 else "<10.95"),
            rows["age"].map(
                lambda age: "<20" if age < 20 else "20-39" if age < 40 else "40-59" if age < 60 else ">=60"
            ),
            rows["education"].map(schooling),
            rows["major_industry"].map(industry),
        ]
    ).size()
    assert series(table).to_dict() == expected.to_dict()
    # groups in the order in which the mappings name them
    assert [list(level) for level in table.indexes["profile"].levels[2:]] == [
        ["no college", "college"],
        ["other", "factory"],
    ]


@pytest.mark.parametrize(
    ("fine", "coarse", "sizes"),
    [("age", "age_group", (70, 3)), ("education16", "education_group", (16, 4)), ("industry22", "sector", (22, 8))],
)
def test_census_wage__raw_attributes_refine_the_groups(fine, coarse, sizes):
    table = census_wage(attributes=[fine, coarse])
    assert tuple(len(level) for level in table.indexes["profile"].levels) == sizes
    assert table.sizes["profile"] == sizes[0]  # one group for each raw category


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_census_wage__every_attribute_counts_everyone(name):
    assert census_wage(attributes=name).sum() == 16_888


def test_census_wage__origins_that_are_not_told_are_not_hispanic():
    counts = series(census_wage(attributes=["hispanic10", "race4"]))
    assert counts["NA"].sum() == 24
    assert "hispanic" not in counts["NA"].index
    assert counts[:, "hispanic"].sum() == 1_411


def test_census_wage__a_mapping_must_cover_the_labels():
    with pytest.raises(pt.UnknownCategoryError, match="education has no group for 'High school graduate'"):
        census_wage(education={label: group for label, group in EDUCATION.items() if group != "highschool"})
    with pytest.raises(pt.UnknownCategoryError, match="no label 'Retail' for sectors"):
        census_wage(sectors={**CENSUS_SECTORS, "Retail": "A-sales-trade"})
    with pytest.raises(pt.InvalidOptionError, match="sectors must be a mapping"):
        census_wage(sectors=["Retail trade"])


@pytest.mark.parametrize("options", [{"year": 1996}, {"year": "1994"}, {"split": "all"}, {"wage_edges": (7.5, 5)}])
def test_census_wage__impossible_options(options):
    with pytest.raises(pt.InvalidOptionError, match=next(iter(options))):
        census_wage(**options)


def test_census_wage__unknown_attribute():
    with pytest.raises(pt.UnknownAttributeError, match=r"no attribute 'race'; the Census-Income data has wage_range"):
        census_wage(attributes=["race"])
