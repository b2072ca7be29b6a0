"""Calibration and the makers of constraints x options x values of every other type: each is refused by name."""

from __future__ import annotations

import pytest

import purtensor as pt
from tests.hostile.test_option_types import NONE, ODD, of, refuses

PEOPLE = {"sex": list("ffmm") * 8, "x": [1.0, 2, 3, 4] * 8, "home": [1, 1, 2, 2] * 8}
SEX = pt.total(1, by="sex", target={"f": 5, "m": 6.0})
FITTED = pt.calibrate(PEOPLE, SEX)
BY_LABEL = {"dict", "series", "table"}  # their labels are only known with the rows
NUMBERS = {"negative", "infinite"}
NAMES = {"empty text", "text", "list", "dict", "empty list", "array"}  # attributes are looked up with the records
OPTIONS = dict.fromkeys(("weights", "bounds", "weight_bounds", "members", "key", "size", "solver", "replicates"), NONE)
OPTIONS |= {option: set() for option in ("relative_to", "distance", "total", "tolerance", "on_failure")}

CALLS = {
    "calibrate": (of(pt.calibrate, PEOPLE, SEX), OPTIONS),
    "calibrate, records": (lambda option, value: pt.calibrate(value, SEX), {"records": set()}),
    "calibrate, constraints": (lambda option, value: pt.calibrate(PEOPLE, value), {"constraints": set()}),
    "template": (of(pt.template, PEOPLE, "sex"), {"weights": NONE, "members": NONE, "key": NONE}),
    "template, scopes": (lambda option, value: pt.template(PEOPLE, value), {"scopes": set()}),
    "total": (
        of(pt.total, 1),
        {"by": NAMES, "target": NONE | {"negative"}, "lower": NONE | NUMBERS, "of": NONE | BY_LABEL},
    ),
    "total, values": (lambda option, value: pt.total(value, target=1.0), {"values": NAMES | {"negative", "table"}}),
    "mean": (of(pt.mean, "x", target=2.0), {"by": NAMES, "target": {"negative"}, "of": NONE | {"dict"}}),
    "share": (of(pt.share, of={"sex": "f"}, target=0.5), {"of": {"dict"}, "within": NONE | {"dict"}, "target": set()}),
    "between": (of(pt.between, SEX), {"absolute": BY_LABEL | {"infinite"}, "relative": BY_LABEL, "rate": set()}),
    "between, constraint": (lambda option, value: pt.between(value, absolute=1), {"constraint": set()}),
    "soft": (
        of(pt.soft, SEX),
        {"penalty": NONE, "strength": NONE | BY_LABEL, "sd": NONE | BY_LABEL, "covariance": NONE},
    ),
    "soft, k": (of(pt.soft, SEX, penalty="huber", sd=1.0), {"k": set()}),
    "soft, constraint": (lambda option, value: pt.soft(value), {"constraint": set()}),
    "estimate": (of(FITTED.estimate, "x"), {"kind": set(), "strata": NONE, "clusters": NONE}),
    "bootstrap": (of(FITTED.bootstrap, count=2, seed=1), {"count": set(), "seed": {"beyond float64"}, "strata": NONE}),
    "refitted": (lambda option, value: FITTED.refitted(value), {"replicates": set()}),
    "tightest_bounds": (of(FITTED.tightest_bounds), {"lower": NONE, "upper": NONE}),
    "bound_curve": (of(FITTED.bound_curve), {"points": set()}),
}


@pytest.mark.parametrize(("name", "option"), [(name, option) for name, (_, own) in CALLS.items() for option in own])
def test_options__of_another_type_are_refused(name, option):
    call, allowed = CALLS[name]
    wrong = [odd for odd in ODD if odd not in allowed[option]]
    assert [odd for odd in wrong if not refuses(call, option, ODD[odd]())] == []


@pytest.mark.parametrize("odd", sorted(BY_LABEL))
@pytest.mark.parametrize("option", ["absolute", "relative", "strength", "sd"])
def test_numbers_by_label__that_do_not_fit_the_rows_are_refused_with_the_records(option, odd):
    make = pt.between if option in ("absolute", "relative") else pt.soft
    control = make(SEX, **{option: ODD[odd]()})
    with pytest.raises(pt.PurtensorError, match="sex"):
        pt.calibrate(PEOPLE, control)
