"""Which predictors make parity expensive or impossible."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

import purtensor as pt
from purtensor.projection.diagnose import diagnose
from tests.strategies import table_from

ADULT = {"response": "income", "protected": ["gender", "race"]}


@pytest.fixture(scope="module")
def adult():
    names = ("income", "gender", "race", "age_group", "workclass", "education", "relationship")
    return pt.regularize(pt.datasets.adult(attributes=names), response="income")


@pytest.fixture(scope="module")
def found(adult):
    return pt.proxies(adult, **ADULT).set_index("predictors")


def test_proxies__relationship_makes_parity_unreachable(found):
    # with all four predictors the smallest L1 violation is 0.0826
    whole = found.loc["age_group + workclass + education + relationship"]
    assert whole["verdict"] == "infeasible"
    assert whole["smallest_violation"] == pytest.approx(0.0825933423, abs=1e-9)
    for predictors, row in found.iterrows():
        blocked = "relationship" in predictors
        assert (row["verdict"] == "infeasible") == blocked
        assert (row["smallest_violation"] > 0.08) == blocked
        assert math.isinf(row["kl"]) == blocked
    assert found.index[0] == "age_group + workclass + education + relationship"


def test_proxies__more_predictors_never_make_it_cheaper(found):
    sets = {frozenset(name.split(" + ")): row for name, row in found.iterrows()}
    assert len(sets) == 4 + 6 + 2
    for small, large in combinations(sets, 2):
        if large < small:
            small, large = large, small
        if small < large:
            assert sets[small]["smallest_violation"] <= sets[large]["smallest_violation"] + 1e-10
            assert sets[small]["kl"] <= sets[large]["kl"] + 1e-10
    assert found["size"].tolist() == [len(name.split(" + ")) for name in found.index]


def test_proxies__are_ranked_by_violation_and_then_by_price(found):
    violations = found["smallest_violation"].to_numpy()
    assert np.all(np.diff(violations) <= 1e-9)
    feasible = found[found["verdict"] == "interior"]["kl"].to_numpy()
    assert len(feasible) == 6
    assert np.all(np.diff(feasible) <= 1e-9)


def test_proxies__each_row_is_the_pur_problem_of_its_marginal(adult, found):
    for names in (("education",), ("age_group", "workclass")):
        part = pt.marginal(adult, [*("income", "gender", "race"), *names])
        projected = pt.project(part, pt.pur(part, **ADULT))
        assert found.loc[" + ".join(names)]["kl"] == pytest.approx(projected.divergence, abs=1e-9)
    part = pt.marginal(adult, ["income", "gender", "race", "relationship"])
    assert diagnose(part, pt.pur(part, **ADULT)).verdict == "infeasible"


def test_proxies__the_flow_finds_what_the_relaxation_finds(adult, monkeypatch):
    by_flow = pt.proxies(adult, **ADULT, largest=1)
    monkeypatch.setattr(pt.Diagnosis, "smallest_violation", lambda self, soft=0: None)  # as it is with three responses
    by_relaxation = pt.proxies(adult, **ADULT, largest=1)
    assert by_flow["predictors"].tolist() == by_relaxation["predictors"].tolist()
    assert by_flow["smallest_violation"].to_numpy() == pytest.approx(by_relaxation["smallest_violation"], abs=1e-10)
    assert by_flow["smallest_violation"].max() > 0.08


def test_proxies__size_is_limited_on_request(adult):
    alone = pt.proxies(adult, **ADULT, largest=1)
    assert alone["size"].tolist() == [1] * 4
    assert alone["predictors"].tolist()[0] == "relationship"
    assert pt.proxies(adult, **ADULT, largest=2)["size"].max() == 2
    assert pt.proxies(adult, **ADULT, largest=3)["size"].max() == 3


def test_proxies__the_proxy_example():
    # at a = 0 x equals s; z is of no consequence
    masses = {(y, s, s, z): m for (y, s), m in {(0, 0): 3, (1, 0): 2, (0, 1): 1, (1, 1): 4}.items() for z in (0, 1)}
    f = table_from(("y", "s", "x", "z"), ((0, 1),) * 4, masses)
    found = pt.proxies(f, response="y", protected="s")
    assert found["predictors"].tolist() == ["x", "x + z", "z"]
    assert found["smallest_violation"].tolist() == pytest.approx([0.4, 0.4, 0.0], abs=1e-12)
    assert found["kl"].tolist()[:2] == [math.inf, math.inf]


def test_proxies__refuses_what_it_cannot_try():
    f = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1]})
    with pytest.raises(pt.InvalidOptionError, match="no predictor"):
        pt.proxies(f, response="y", protected="s")
    wide = pt.tabulate({"y": [0, 1, 0, 1], "s": [0, 0, 1, 1], **{f"x{i}": [0, 1, 1, 0] for i in range(26)}})
    with pytest.raises(pt.InvalidOptionError, match="325 pairs"):
        pt.proxies(wide, response="y", protected="s")
    with pytest.raises(pt.InvalidOptionError, match="largest"):
        pt.proxies(wide, response="y", protected="s", largest=0)
