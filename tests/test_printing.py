"""Every result shows its numbers on a terminal and in a notebook, with labels as they are, and never as HTML."""

from __future__ import annotations

import html
import operator
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import purtensor as pt
from purtensor._printing import Shown, facts_as_html, facts_as_text


@pytest.fixture(scope="module")
def reference() -> xr.DataArray:
    records = {"<b>x": ["p", "q", "p", "q"], "y & z": ["<i>", "<i>", "v", "v"]}
    return pt.tabulate(records, weights=[1, 2, 3, 5])


def test_facts_as_html__names_and_values_are_escaped_and_empty_ones_left_out() -> None:
    written = facts_as_html("Projection", {"a <b>": "1 < 2 & 3", "empty": "", "proved": "D <= 1"})
    assert written == (
        "<table><caption>purtensor.Projection</caption><tr><th>a &lt;b&gt;</th><td>1 &lt; 2 &amp; 3</td></tr>"
        "<tr><th>proved</th><td>D &lt;= 1</td></tr></table>"
    )


def test_facts_as_text__one_line_a_fact() -> None:
    told = facts_as_text("results.Relaxation", {"a <b>": "1 < 2", "empty": ""})
    assert told == "<purtensor.results.Relaxation>\n  a <b>: 1 < 2"


def test_relaxation__its_attributes_are_no_html(reference: xr.DataArray) -> None:
    html = pt.relax(reference, pt.marginals_of(reference, ["<b>x"]), soft=0)._repr_html_()
    assert "<th>missed of &lt;b&gt;x</th>" in html
    assert "<b>" not in html
    assert "<td></td>" not in html


def test_projection__its_notes_are_no_html(reference: xr.DataArray) -> None:
    projected = replace(pt.project(reference, pt.marginals_of(reference, ["<b>x"])), notes=("left out: <b>x=p",))
    assert "left out: <b>x=p" in repr(projected)
    assert "<td>left out: &lt;b&gt;x=p</td>" in projected._repr_html_()
    assert "<b>" not in projected._repr_html_()


@pytest.fixture(scope="module")
def projected(reference: xr.DataArray) -> pt.Projection:
    return pt.project(reference, pt.marginals_of(reference, ["<b>x", "y & z"]), solver=pt.IPF())


RESULTS: dict[str, tuple[Callable[[pt.Projection], Any], tuple[str, ...]]] = {
    "Verification": (pt.verify, ("passed: yes", "residual: ", "proved: D <= ")),
    "results.StandardErrors": (
        lambda result: pt.standard_errors(result, size=11),
        ("sample: 11 individuals", "profiles: 4"),
    ),
    "convergence.ConvergenceRate": (pt.convergence_rate, ("sweeps for a factor of ten: 0",)),
    "convergence.BestOrder": (pt.convergence.best_order, ("order: 0 1", "compared: 1 orders, all there are")),
    "convergence.BestRelaxation": (pt.convergence.best_relaxation, ("relaxation: ",)),
    "results.Ensemble": (
        lambda result: pt.project_many([result.reference] * 3, result.constraints),
        ("projections: 3 of 3", "endings: 3: every constraint is met"),
    ),
    "results.Bootstrap": (
        lambda result: pt.bootstrap(result.reference, lambda table: float(table[0]), times=5, seed=1),
        ("draws: 5", "value: 1, standard error "),
    ),
    "convergence.Prediction": (
        lambda result: pt.convergence.predict(result.reference, result.constraints),
        ("sweeps for a factor of ten: 0", "explanation: "),
    ),
    "convergence.Forecast": (
        pt.convergence.forecast,
        ("sweeps left: 0 (0 to 0)", "explanation: The residual is within 1e-10"),
    ),
    "convergence.ObservedRate": (
        pt.convergence.observed_rate,
        ("sweeps for a factor of ten: 0 by the error", "sweeps to 1e-10: "),
    ),
    "Projection": (lambda result: result, ("ending: every constraint is met", "proved: D <= ")),
    "results.Relaxation": (
        lambda result: pt.relax(result.reference, pt.marginals_of(result.reference, ["y & z"]), soft=0),
        ("ending: every constraint is met", "objective: 0 nats"),
    ),
    "results.StoredTable": (
        lambda result: pt.store_table(result.reference, Path(tempfile.mkdtemp()) / "t.zarr"),
        ("attributes: <b>x (2), y & z (2)", "profiles: 4 in 1 chunks", "total: 11"),
    ),
    "results.LogLinearFit": (
        lambda result: pt.results.fit_log_linear(result.reference, ["<b>x", "y & z"]),
        ("deviance: 0.0165022 on 1 degrees of freedom",),
    ),
    "results.Inspection": (
        lambda result: pt.inspect({"<b>x": ["p", "q"] * 40, "n": range(80)}),
        ("records: 80", "look at 1: column 'n' "),
    ),
    "results.Calibration": (
        lambda result: pt.calibrate({"<b>x": ["p", "q"]}, pt.Marginal(pt.marginal(result.reference, "<b>x"))),
        ("records: 2", "sum of weights: 2 before, 11 after"),
    ),
    "fairness.Smoothed": (
        lambda result: pt.fairness.smooth(
            result.reference * 10, response="<b>x", protected="y & z", orders=[1], folds=2
        ),
        ("pseudo-count: ",),
    ),
    "fairness.Decisions": (
        lambda result: pt.fairness.decide(result.table, response="<b>x", protected="y & z"),
        ("rule: fair", "people: 11", "accuracy: "),
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results__show_their_numbers(name: str, projected: pt.Projection) -> None:
    make, expected = RESULTS[name]
    found = make(projected)
    told = repr(found)
    shown = found._repr_html_()
    assert told.splitlines()[0] == f"<purtensor.{name}>"
    assert operator.attrgetter(name)(pt) is type(found)  # as users import it
    for fact in expected:
        title, _, value = fact.partition(": ")
        assert f"  {fact}" in told
        assert f"<th>{title}</th><td>{html.escape(value)}" in shown
    assert "<b>" not in shown.replace("<b>Verdict</b>", "")


def test_results__are_all_shown_here() -> None:
    modules = {"": pt, **{f"{name}.": getattr(pt, name) for name in ("results", "convergence", "fairness")}}
    public = {f"{place}{name}": getattr(module, name) for place, module in modules.items() for name in module.__all__}
    shown = {name for name, thing in public.items() if isinstance(thing, type) and issubclass(thing, Shown)}
    assert shown == set(RESULTS)


def test_standard_errors__of_few_profiles_are_listed_in_a_notebook(projected: pt.Projection) -> None:
    found = pt.standard_errors(projected, size=11)
    (frame,) = found.frames().values()
    assert frame["standard error"].tolist() == pytest.approx(found.table.to_series().tolist())
    assert frame["mass"].tolist() == pytest.approx(projected.table.to_series().tolist())
    assert "<th>standard error</th>" in found._repr_html_()


def test_bootstrap__a_table_of_estimates_with_intervals(projected: pt.Projection) -> None:
    found = pt.bootstrap(projected.reference, lambda table: float(table[0]), times=5, seed=1)
    (frame,) = found.frames().values()
    assert frame.loc["value", ["low", "high"]].tolist() == found.interval().loc["value"].tolist()
