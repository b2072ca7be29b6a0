from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.datasets import gender_pay_gap
from purtensor.datasets.sectors import CPS_SECTORS

INDUSTRIES = list(CPS_SECTORS)
YEARS = (1981, 1990, 1999, 2007, 2009, 2011, 2013)


def records(size=400, seed=7):
    rng = np.random.default_rng(seed)
    industry = rng.integers(len(INDUSTRIES), size=size)
    frame = pd.DataFrame(
        {
            "year": rng.choice(YEARS, size=size),
            "serial": np.arange(size),  # not needed: must not be read
            "age": rng.integers(25, 65, size=size),
            "sex": rng.integers(1, 3, size=size),
            "race": rng.integers(1, 5, size=size),
            "sch": rng.choice([0, 2.5, 8, 11, 12, 13, 14, 16, 18], size=size),
            "realhrwage": rng.choice([9.99, 10.0, 19.5, 20.0, 33.25, 40.0, 120.0], size=size),
            **{name: (industry == code).astype(np.int8) for code, name in enumerate(INDUSTRIES)},
        }
    )
    # the occupation, whose name differs from the industry `Transport` by case only
    return frame.assign(transport=1 - frame["Transport"])


def first_below(value, labels):
    return next(label for edge, label in labels.items() if value < edge)


def slow_counts(frame, year=None):
    """Count row by row, in plain words."""
    counts = {}
    for row in frame.to_dict("records"):
        if year is not None and row["year"] != year:
            continue
        wage, age, school = row["realhrwage"], row["age"], row["sch"]
        sector = next(CPS_SECTORS[name] for name in INDUSTRIES if row[name] == 1)
        profile = (
            first_below(wage, {10: "<10", 20: "10-20", 30: "20-30", 40: "30-40", np.inf: ">=40"}),
            {1: "male", 2: "female"}[row["sex"]],
            {1: "white", 2: "black", 3: "hispanic", 4: "other"}[row["race"]],
            "young" if age < 30 else "middle" if age < 50 else "senior",
            first_below(school, {12: "no-diploma", 13: "highschool", 16: "some-college", np.inf: "degree"}),
            sector,
        )
        counts[profile] = counts.get(profile, 0) + 1
    return counts


def write(frame, folder, suffix):
    path = folder / f"cps{suffix}"
    if suffix == ".dta":
        frame.to_stata(path, write_index=False)
    else:
        frame.to_csv(path, index=suffix == ".csv.gz")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".dta"])
@pytest.mark.parametrize("year", [None, 1999])
def test_gender_pay_gap__counts_as_by_hand(tmp_path, suffix, year):
    frame = records()
    table = gender_pay_gap(write(frame, tmp_path, suffix), year=year)
    assert table.to_series().to_dict() == slow_counts(frame, year)
    assert [len(level) for level in table.indexes["profile"].levels] == [5, 2, 4, 3, 4, 8]
    assert table.attrs == {}


@pytest.mark.parametrize("change", [lambda line: line[:-4], lambda line: line + ",1", lambda line: f"{line},{line}"])
def test_gender_pay_gap__refuses_a_row_that_was_cut_or_joined(tmp_path, change):
    """pandas fills the one up, and forgets the end of the other."""
    path = write(records(20), tmp_path, ".csv")
    lines = path.read_text().splitlines()
    lines[3] = change(lines[3])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(pt.errors.FileFormatError, match=r"cps\.csv has \d+ cells in row 3 .* where 24 are expected"):
        gender_pay_gap(path)


@pytest.mark.parametrize("year", ["inf", "1999.5"])
def test_gender_pay_gap__refuses_a_year_that_is_none(tmp_path, year):
    path = write(records(20), tmp_path, ".csv")
    lines = path.read_text().splitlines()
    lines[3] = ",".join([year, *lines[3].split(",")[1:]])
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(pt.InvalidTableError, match="year is a whole number, not so in row 2"):
        gender_pay_gap(path)


def test_gender_pay_gap__shares_names_and_categories_with_the_embedded_stand_in(tmp_path):
    ours = gender_pay_gap(write(records(), tmp_path, ".csv")).indexes["profile"]
    theirs = pt.datasets.census_wage().indexes["profile"]
    assert ours.names == theirs.names
    for one, other in list(zip(ours.levels, theirs.levels, strict=True))[1:]:
        assert list(one) == list(other)


def test_gender_pay_gap__other_bins_and_sectors(tmp_path):
    frame = records()
    sectors = {name: "care" if name in {"Medical", "Education"} else "rest" for name in INDUSTRIES}
    table = gender_pay_gap(
        write(frame, tmp_path, ".csv"),
        wage_edges=(20,),
        age_edges=(40,),
        education_edges=(9, 16),
        sectors=sectors,
        attributes=["sector", "education_group", "wage_range", "age_group", "year"],
    )
    expected = frame.groupby(
        [
            (frame["Medical"] + frame["Education"]).map({1: "care", 0: "rest"}),
            frame["sch"].map(lambda years: "<9" if years < 9 else "9-16" if years < 16 else ">=16"),
            frame["realhrwage"].map(lambda wage: "<20" if wage < 20 else ">=20"),
            frame["age"].map(lambda age: "<40" if age < 40 else ">=40"),
            "year",
        ]
    ).size()
    assert table.to_series().to_dict() == expected.to_dict()


@pytest.mark.parametrize("suffix", [".csv", ".dta"])
def test_gender_pay_gap__missing_values_by_policy(tmp_path, suffix):
    frame = records(60)
    frame["sch"] = frame["sch"].astype(float)
    frame.loc[[3, 17], "sch"] = np.nan
    path = write(frame, tmp_path, suffix)
    with pytest.raises(pt.InvalidTableError, match=r"'education_group' is missing in 2 rows: 3, 17; .*missing='drop'"):
        gender_pay_gap(path)
    dropped = gender_pay_gap(path, missing="drop")
    assert dropped.to_series().to_dict() == slow_counts(frame.drop([3, 17]))
    assert dropped.attrs == {"dropped_rows": 2}
    kept = gender_pay_gap(path, missing="category", attributes=["education_group"])
    assert kept.sum() == 60
    assert kept.to_series()["missing"] == 2
    # a column that is not asked for is not missed
    assert gender_pay_gap(path, attributes=["gender", "race4"]).sum() == 60


def test_gender_pay_gap__an_industry_without_sector_is_missing(tmp_path):
    frame = records()
    path = write(frame, tmp_path, ".csv")
    seven = {name: sector for name, sector in CPS_SECTORS.items() if sector != "H-manufacturing"}
    with pytest.raises(pt.InvalidTableError, match="'sector' is missing"):
        gender_pay_gap(path, sectors=seven)
    table = gender_pay_gap(path, sectors=seven, missing="drop")
    assert table.sum() == 400 - frame[["durables", "nondurables"]].to_numpy().sum()
    assert len(table.indexes["profile"].levels[-1]) == 7


def test_gender_pay_gap__missing_columns_are_named(tmp_path):
    path = write(records().drop(columns=["race", "Transport"]), tmp_path, ".csv")
    with pytest.raises(pt.errors.FileFormatError, match=r"no column 'race', 'Transport'; transport differs by case"):
        gender_pay_gap(path)


def test_gender_pay_gap__unknown_year_lists_the_years(tmp_path):
    path = write(records(), tmp_path, ".dta")
    with pytest.raises(pt.UnknownCategoryError, match=r"no row of the year 1995 .* it has 1981, 1990, 1999"):
        gender_pay_gap(path, year=1995)


@pytest.mark.parametrize(
    ("column", "value", "error", "message"),
    [
        ("sex", 3, pt.InvalidTableError, "sex is one of 1, 2, not so in row 5"),
        ("race", 0, pt.InvalidTableError, "race is one of 1, 2, 3, 4"),
        ("realhrwage", -1.0, pt.InvalidTableError, "realhrwage is finite and not negative"),
        ("durables", 2, pt.InvalidTableError, "industry indicators are 0 or 1"),
        ("sex", "Male", pt.errors.FileFormatError, "column 'sex' holds '[12]'|column 'sex' holds"),
    ],
)
def test_gender_pay_gap__values_beyond_the_codebook(tmp_path, column, value, error, message):
    frame = records(20)
    frame[column] = frame[column].astype(object)
    frame.loc[5, column] = value
    with pytest.raises(error, match=message):
        gender_pay_gap(write(frame, tmp_path, ".csv"))


def test_gender_pay_gap__two_sectors(tmp_path):
    frame = records(20)
    frame.loc[4, ["Medical", "finance"]] = 1
    with pytest.raises(pt.InvalidTableError, match="one sector, not so in row 4"):
        gender_pay_gap(write(frame, tmp_path, ".csv"))


def test_gender_pay_gap__other_files(tmp_path):
    with pytest.raises(pt.errors.FileFormatError, match=r"must be a .csv or .dta file"):
        gender_pay_gap(tmp_path / "cps.parquet")
    with pytest.raises(FileNotFoundError):
        gender_pay_gap(tmp_path / "cps.csv")
    with pytest.raises(pt.errors.FileFormatError, match="has no rows"):
        gender_pay_gap(write(records().iloc[:0], tmp_path, ".csv"))


def test_gender_pay_gap__impossible_options(tmp_path):
    path = write(records(20), tmp_path, ".csv")
    with pytest.raises(pt.InvalidOptionError, match="missing must be one of"):
        gender_pay_gap(path, missing="ignore")
    with pytest.raises(pt.InvalidOptionError, match="sectors must be a mapping"):
        gender_pay_gap(path, sectors={})
    with pytest.raises(pt.UnknownAttributeError, match="the gender-pay-gap data has wage_range"):
        gender_pay_gap(path, attributes=["income"])
