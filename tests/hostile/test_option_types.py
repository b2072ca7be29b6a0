"""Functions x options x values of every other type: each is refused by name, whatever comparing with it does."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import purtensor as pt
from purtensor.compat.ipfn import ipfn
from purtensor.compat.mipfp import Ipfp
from purtensor.sklearn import Binner, PURClassifier
from tests.hostile.callables import PUR, ROLES, plain

ODD = {
    "none": lambda: None,
    "empty text": lambda: "",
    "text": lambda: "zz",
    "negative": lambda: -1,
    "not a number": lambda: float("nan"),
    "infinite": lambda: float("inf"),
    "beyond float64": lambda: 10**400,
    "truth": lambda: True,
    "complex": lambda: 1j,
    "bytes": lambda: b"y",
    "empty list": list,
    "list": lambda: ["zz"],
    "dict": lambda: {"zz": 1},
    "object": object,
    "class": lambda: int,
    "array of no axis": lambda: np.array(0.5),
    "array": lambda: np.array(["a", "b"]),
    "missing": lambda: pd.NA,
    "missing time": lambda: pd.NaT,
    "series": lambda: pd.Series([1, 2]),
    "table": plain,
}
NUMBER = {"infinite"}
TRUTH = {"truth"}
NONE = {"none"}
BIG = {"beyond float64"}

RESULT = pt.project(plain(), PUR)
ROWS = pd.DataFrame({"sex": ["f", "m"] * 8, "age": [1, 1, 2, 2] * 4})
HIRED = np.array([0, 1, 1, 0] * 4)
ONES = np.ones((2, 2))


def of(function, *given, **usual):
    """The call with all options as usual but one."""
    return lambda option, value: function(*given, **usual | {option: value})


def compared(option, value):
    return pt.compare("haberman", "newton", **{"budget": 5.0, "repetitions": 0, option: value})


def fitted(option, value):
    return PURClassifier(**{"protected": "sex", "strength": 1.0, option: value}).fit(ROWS, HIRED)


def fitted_by_ipfn(option, value):
    return ipfn(ONES, **{"aggregates": [np.ones(2)], "dimensions": [[0]], option: value}).iteration()


CALLS = {
    "tabulate": (of(pt.tabulate, {"a": [1, 2]}), {"missing": set(), "attributes": NONE}),
    "regularize": (
        of(pt.regularize, plain(), response="y"),
        {"strength": set(), "total": NONE, "response": set(), "support": {"table"}},
    ),
    "marginal": (of(pt.marginal, plain()), {"attributes": set()}),
    "marginals_of": (of(pt.marginals_of, plain()), {"scopes": set()}),
    "to_dense": (of(pt.to_dense, pt.to_sparse(plain())), {"fill_value": {"negative", "not a number", "infinite"}}),
    "to_sparse": (of(pt.to_sparse, plain()), {"keep_zeros": TRUTH}),
    "parity": (of(pt.parity, plain(), **ROLES), {"response": set(), "protected": set()}),
    "pur": (of(pt.pur, plain(), **ROLES), {"conditions": set()}),
    "coefficients": (of(pt.coefficients, plain()), {"constraints": set()}),
    "project": (
        of(pt.project, plain(), constraints=PUR),
        {
            "constraints": set(),
            "solver": NONE,
            "tolerance": set(),
            "stop_on": set(),
            "max_iterations": NONE,
            "max_seconds": NONE | NUMBER,
            "on_failure": set(),
            "certificate": TRUTH,
            "start": NONE,
            "progress": TRUTH,
            "callback": NONE | {"class"},
        },
    ),
    "relax": (
        of(pt.relax, plain(), PUR, soft=0),
        {
            "soft": {"series"},
            "penalty": set(),
            "strength": set(),
            "tolerance": set(),
            "max_iterations": NONE,
            "on_failure": set(),
        },
    ),
    "project_many": (
        of(pt.project_many, [plain()], constraints=PUR),
        {
            "solver": NONE,
            "tolerance": set(),
            "stop_on": set(),
            "max_iterations": NONE,
            "seed": NONE,
            "max_seconds": NONE | NUMBER,
            "certificate": TRUTH,
            "progress": TRUTH,
            "executor": NONE | {"negative"} | BIG,
        },
    ),
    "project_many, members": (
        lambda option, value: pt.project_many(value, PUR),
        {"references": {"empty list", "class", "table"}},
    ),
    "verify": (of(pt.verify, RESULT), {"exact": TRUTH}),
    "predict": (of(pt.predict, plain(), plain(), response="y"), {"response": set(), "unseen": set()}),
    "disparity_ratio": (
        of(pt.disparity_ratio, plain(), **ROLES, reference={"s": "m"}),
        {"reference": set(), "protected": set()},
    ),
    "disparity_ratio, category": (
        lambda option, value: pt.disparity_ratio(plain(), **ROLES, reference={"s": value}),
        {"reference": set()},
    ),
    "parity_curve": (of(pt.parity_curve, plain(), **ROLES), {"slacks": {"series"}}),
    "strength_path": (of(pt.strength_path, plain(), **ROLES), {"strengths": {"series"}}),
    "proxies": (of(pt.proxies, plain(), **ROLES), {"largest": NONE}),
    "sample": (of(pt.sample, plain(), size=3, seed=1), {"size": set(), "seed": BIG}),
    "round_counts": (
        of(pt.round_counts, plain(), total=9),
        {"total": set(), "seed": BIG, "constraints": {"empty list"}},
    ),
    "standard_errors": (
        of(pt.standard_errors, RESULT, size=32),
        {"size": set(), "targets": NONE, "data": NONE | {"table"}},
    ),
    "convergence_rate": (of(pt.convergence_rate, RESULT), {"order": NONE, "relaxation": set()}),
    "best_order": (of(pt.convergence.best_order, RESULT), {"most": set(), "seed": set()}),
    "evaluate": (of(pt.results.evaluate, RESULT, plain()), {"undefined": set()}),
    "log_linear_parameters": (of(pt.results.log_linear_parameters, RESULT), {"contrasts": set()}),
    "convergence.forecast": (of(pt.convergence.forecast, RESULT), {"tolerance": set()}),
    "convergence.observed_rate": (
        of(pt.convergence.observed_rate, RESULT),
        {"solver": NONE, "tolerance": set(), "smallest": set(), "max_iterations": set()},
    ),
    "convergence.predict": (of(pt.convergence.predict, plain(), PUR), {"at": {"table"}}),
    "Projection.jvp": (of(RESULT.jvp), {"targets": NONE, "log_reference": NONE | {"table"}}),
    "Projection.vjp": (of(RESULT.vjp), {"gradient": {"table"}}),
    "fit_log_linear": (
        of(pt.results.fit_log_linear, plain() * 100, model="y | s"),
        {"model": set(), "support": {"table"}},
    ),
    "compare_log_linear": (of(pt.results.compare_log_linear), {"fits": set()}),
    "problems.hardest": (
        of(pt.problems.hardest, seed=1, moves=1),
        {
            "seed": BIG,
            "responses": set(),
            "protected": set(),
            "unprotected": set(),
            "records": set(),
            "strength": set(),
            "solver": NONE,
            "moves": set(),
        },
    ),
    "SweepsToGo": (of(pt.convergence.SweepsToGo), {"tolerance": set()}),
    "compare": (
        compared,
        {
            "budget": NUMBER,
            "tolerance": set(),
            "max_iterations": set(),
            "repetitions": set(),
            "clock": set(),
            "executor": NONE | {"negative"} | BIG,
            "on_step": NONE | {"class"},
        },
    ),
    "compare, solvers": (lambda option, value: pt.compare("haberman", value), {"solvers": set()}),
    "compare, problems": (lambda option, value: pt.compare(value, "newton"), {"problems": {"array"}}),
    "problems.load": (lambda option, value: pt.problems.load(value), {"name": set()}),
    "problems.variant": (lambda option, value: pt.problems.variant(value), {"name": set()}),
    "problems.generate": (of(pt.problems.generate, "cube", seed=1, categories=2), {"seed": BIG, "categories": set()}),
    "problems.generate, family": (lambda option, value: pt.problems.generate(value, seed=1), {"family": set()}),
    "problems.proxy": (of(pt.problems.proxy), {"added": set()}),
    "save": (of(pt.save, plain()), {"path": set()}),
    "open_table": (of(pt.results.open_table), {"path": set()}),
    "gender_pay_gap": (of(pt.datasets.gender_pay_gap), {"path": set()}),
    "StoredMarginal": (lambda option, value: pt.results.StoredMarginal(value, ("y",)), {"table": set()}),
    "ipfn": (
        fitted_by_ipfn,
        {"aggregates": set(), "dimensions": set(), "convergence_rate": NUMBER, "verbose": TRUTH},
    ),
    "Ipfp": (
        of(Ipfp, ONES, target_list=[0], target_data=[np.ones(2)]),
        {"target_list": set(), "target_data": set(), "tol": set(), "print": TRUTH},
    ),
    "Binner": (
        lambda option, value: Binner(**{option: value}).fit(ROWS.assign(age=ROWS.age / 3)),
        {"bins": set(), "columns": set(), "missing": set()},
    ),
    "PURClassifier": (
        fitted,
        {
            "protected": set(),
            "conditions": set(),
            "strength": set(),
            "reference": set(),
            "unseen": set(),
            "bins": NONE,
            "tolerance": set(),
            "solver": NONE,
        },
    ),
}
STORED = {
    "certificate": TRUTH,
    "progress": TRUTH,
    "tolerance": set(),
    "stop_on": set(),
    "max_iterations": NONE,
    "max_seconds": NONE | NUMBER,
    "on_failure": set(),
    "solver": NONE,
    "callback": NONE | {"class"},
}
CASES = [(name, option) for name, (_, options) in CALLS.items() for option in options]


@pytest.mark.parametrize(("name", "option"), CASES)
def test_options__of_another_type_are_refused(name, option):
    call, options = CALLS[name]
    wrong = [odd for odd in ODD if odd not in options[option]]
    assert [odd for odd in wrong if not refuses(call, option, ODD[odd]())] == []


def refuses(call, option, value):
    """Whether the value is refused by an error of ours with a message."""
    try:
        call(option, value)
    except pt.PurtensorError as error:
        return bool(str(error))
    return False


RESULTS_ONLY = {
    "convergence_rate": pt.convergence_rate,
    "convergence.forecast": pt.convergence.forecast,
    "convergence.observed_rate": pt.convergence.observed_rate,
    "best_order": pt.convergence.best_order,
    "best_relaxation": pt.convergence.best_relaxation,
    "log_linear_parameters": pt.results.log_linear_parameters,
    "evaluate": lambda result: pt.results.evaluate(result, plain()),
    "standard_errors": lambda result: pt.standard_errors(result, size=9),
    "pythagorean_defect": lambda result: pt.pythagorean_defect(plain(), result),
    "verify": pt.verify,
}


@pytest.mark.parametrize("name", RESULTS_ONLY)
def test_results__of_another_kind_are_refused(name):
    given = [make() for make in ODD.values()]
    if name not in ("pythagorean_defect",):  # a relaxation has a table and a reference as well
        given += [pt.relax(plain(), PUR, soft=0)]
    for result in given:
        with pytest.raises(pt.InvalidOptionError, match=r"Projection|purtensor\.project"):
            RESULTS_ONLY[name](result)


def test_results__of_stored_tables_are_refused_where_memory_is_needed():
    pytest.importorskip("dask")
    stored = pt.project(plain().chunk(x=2), PUR)
    for name in (
        "convergence_rate",
        "convergence.forecast",
        "convergence.observed_rate",
        "best_order",
        "standard_errors",
        "evaluate",
        "log_linear_parameters",
    ):
        with pytest.raises(pt.InvalidOptionError, match="of a table in memory"):
            RESULTS_ONLY[name](stored)


def test_options__fractions_are_numbers():
    third = Fraction(1, 3)
    assert pt.regularize(plain(), third, response="y").equals(pt.regularize(plain(), 1 / 3, response="y"))
    assert pt.convergence_rate(RESULT, relaxation=Fraction(3, 2)).relaxation == 1.5
    with pytest.raises(pt.InvalidOptionError, match=r"neither 1 nor total=0\.333"):
        pt.regularize(plain(), 1, response="y", total=third)


@pytest.mark.parametrize("names", [{"s", "y"}, frozenset({"y", "s"})])
def test_attributes__in_a_set_stand_in_alphabetical_order(names):
    assert pt.marginal(plain(), names).dims == ("s", "y")
    assert pt.marginals_of(plain(), [names])[0].scope == ("s", "y")


def test_proxies__of_one_predictor_in_sets_of_any_size():
    found = pt.proxies(plain(), **ROLES, largest=3)
    assert found["predictors"].tolist() == ["x"]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    pytest.importorskip("zarr")
    return pt.store_table(plain(), tmp_path_factory.mktemp("stored") / "t.zarr")


@pytest.mark.parametrize("option", STORED)
def test_options__of_another_type_are_refused_for_stored_tables_too(option, stored):
    constraints = pt.marginals_of(stored, ["y", "s"])
    wrong = [odd for odd in ODD if odd not in STORED[option]]
    call = of(pt.project, stored, constraints)
    assert [odd for odd in wrong if not refuses(call, option, ODD[odd]())] == []


def test_options__numbers_of_numpy_are_numbers_for_stored_tables_too(stored):
    solver = pt.IPF(relaxation=np.float32(1.0), order=np.array([1, 0]))
    result = pt.project(
        stored,
        pt.marginals_of(stored, ["y", "s"]),
        solver=solver,
        tolerance=np.float32(1e-6),
        max_iterations=np.int64(500),
        max_seconds=np.uint8(200),
        certificate=np.True_,
    )
    assert result.converged


def test_open_table__a_workspace_that_is_no_path_is_refused(stored):
    call = of(pt.results.open_table, stored.path)
    assert [odd for odd in ODD if odd not in NONE | {"text"} and not refuses(call, "workspace", ODD[odd]())] == []
