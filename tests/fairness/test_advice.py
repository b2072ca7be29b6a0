from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.fairness.advice import advise

ROLES = {"response": "paid", "protected": "sex"}


def people(size=600, **columns):
    rng = np.random.default_rng(4)
    sex = rng.choice(["f", "m"], size)
    frame = pd.DataFrame(
        {
            "paid": np.where(rng.random(size) < np.where(sex == "f", 0.2, 0.7), "much", "little"),
            "sex": sex,
            "team": rng.choice(["a", "b"], size),
        }
    )
    return frame.assign(**{name: make(sex, rng) for name, make in columns.items()})


def spouse(sex, rng):
    return np.where(rng.random(len(sex)) < 0.9, np.where(sex == "f", "husband", "wife"), "none")


def regular(frame):
    return pt.regularize(pt.tabulate(frame), response="paid")


def test_advise__names_the_column_its_categories_and_what_leaving_it_out_costs():
    f = regular(people(spouse=spouse))
    found = advise(f, **ROLES)
    assert found.culprits == found.left_out == ("spouse",)
    assert found.kept == ("team",)
    assert set(found.revealing[0]) == {"husband", "wife"}
    alone = pt.proxies(f, **ROLES, largest=1).set_index("predictors")
    assert found.violations == (alone.loc["spouse", "smallest_violation"],)
    part = pt.marginal(f, ["paid", "sex", "team"])
    assert found.divergence == pytest.approx(pt.project(part, pt.pur(part, **ROLES)).divergence)
    first, last = found.sentences
    assert first.startswith("'spouse' reveals the protected attributes")
    assert "occur with one group alone: merge" in first
    assert last.startswith("without 'spouse' they can be met, at 0.")


def test_advise__of_columns_that_contradict_only_together():
    def one(sex, rng):
        return rng.integers(0, 2, len(sex))

    frame = people(one=one)
    frame["other"] = (frame["one"] + (frame["sex"] == "m")) % 2  # each tells nothing, both tell the sex
    found = advise(regular(frame), **ROLES)
    assert found.culprits == ()
    assert found.left_out in (("one",), ("other",))
    assert found.sentences[0] == "no single column makes the conditions contradict each other, but several together do"
    kept = pt.marginal(regular(frame), ["paid", "sex", *found.kept])
    assert str(pt.diagnose(kept, pt.pur(kept, **ROLES)).verdict) != "infeasible"


def test_advise__says_so_where_nothing_helps_but_leaving_all_out():
    found = advise(regular(people(spouse=spouse).drop(columns="team")), **ROLES)
    assert found.left_out == ("spouse",)
    assert found.kept == ()
