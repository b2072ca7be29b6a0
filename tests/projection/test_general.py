"""Projections with bounds, other distances, totals, signs and rows of any kind: right answers and refusals by name."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
import xarray as xr
from scipy import sparse

import purtensor as pt
from purtensor.constraints.rows import Cells, RowBlock, Softness
from purtensor.feasibility.verdict import Verdict


@dataclass(frozen=True)
class Rows:
    """Rows given as numbers, for tests: one coefficient a profile."""

    coefficients: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    softness: Softness | None = None
    name: str = "asked"
    attributes: tuple[str, ...] = ()

    def rows(self, cells: Cells) -> RowBlock:
        labels = tuple(f"row {k}" for k in range(len(self.lower)))
        matrix = sparse.csr_array(self.coefficients)
        return RowBlock(self.name, labels, matrix, self.lower, self.upper, softness=self.softness)


def rows(coefficients, lower, upper=None, **softness):
    low = np.atleast_1d(np.asarray(lower, dtype=float))
    high = low if upper is None else np.atleast_1d(np.asarray(upper, dtype=float))
    soft = Softness(**softness) if softness else None
    return Rows(np.atleast_2d(np.asarray(coefficients, dtype=float)), low, high, soft)


class Own:
    def step(self, problem, iterate, budget):
        raise AssertionError("refused before")


def survey():
    """Ten people of whom sex and age are controlled (case 16 of a collection of public questions)."""
    people = pt.tabulate({"sex": list("ffffmmmmmm"), "age": list("yyyoyooooo")})
    sex = pt.Marginal(pt.tabulate({"sex": ["f", "m"]}, weights=[5.2, 4.8]))
    age = pt.Marginal(pt.tabulate({"age": ["y", "o"]}, weights=[6.5, 3.5]))
    return people, [sex, age]


def ratios(result, people):
    found = result.table / people
    return [float(found.sel(sex=s, age=a).item()) for s, a in ("fo", "fy", "mo", "my")]


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0.4, 2.5), [0.514151570, 1.561949477, 0.597169686, 1.814151570]),
        ((0.55, 2.5), [0.55, 1.55, 0.59, 1.85]),
        ((0.5, 1.8), [0.5, 1.5666666667, 0.6, 1.8]),
    ],
)
def test_project__ratio_bounds(bounds, expected):
    people, controls = survey()
    result = pt.project(people, controls, ratio_bounds=bounds)
    assert result.converged
    assert result.certified
    assert result.tv_bound < 1e-12
    np.testing.assert_allclose(ratios(result, people), expected, atol=1e-9)
    low, high = bounds
    held = np.asarray(result.at_bound.values)
    np.testing.assert_array_equal(held == -1, np.isclose(result.table.values, low * people.values, rtol=1e-9))
    np.testing.assert_array_equal(held == 1, np.isclose(result.table.values, high * people.values, rtol=1e-9))


@pytest.mark.parametrize("solver", [pt.IPF(), pt.LBFGS(), pt.LBFGS(memory=3)])
def test_project__every_solver_finds_the_same_answer(solver):
    people, controls = survey()
    for options in (
        {"ratio_bounds": (0.55, 2.5)},
        {"distance": "logit", "ratio_bounds": (0.4, 2.5)},
        {"distance": "linear"},
    ):
        found = pt.project(people, controls, solver=solver, **options)
        exact = pt.project(people, controls, **options)
        assert found.certified
        assert np.abs(found.table - exact.table).sum() <= 10.0 * (found.tv_bound + exact.tv_bound) * 2.0
        assert found.tv_bound < 1e-8


def test_project__gis_takes_rows_that_are_sums_of_masses():
    people, controls = survey()
    asked = [*controls, rows([1, 0, 0, 0], 0.6)]
    found = pt.project(people, asked, solver=pt.GIS())
    np.testing.assert_allclose(found.table.values, pt.project(people, asked).table.values, rtol=1e-7)
    assert found.iterations > 20


def test_project__bounds_that_no_table_meets_are_told_in_words():
    people, controls = survey()
    with pytest.raises(
        pt.InfeasibleError, match=r"with weights between 0\.6 and 2\.5 times, age=y can reach 6\.4, target"
    ):
        pt.project(people, controls, ratio_bounds=(0.6, 2.5))
    verdict = pt.diagnose(people, controls, ratio_bounds=(0.6, 2.5))
    assert verdict.verdict is Verdict.INFEASIBLE
    assert verdict.exact == "rational"
    assert pt.diagnose(people, controls, ratio_bounds=(0.55, 2.5)).verdict is Verdict.INTERIOR


def test_project__bounds_that_do_not_bind_change_nothing():
    people, controls = survey()
    plain, bounded = (
        pt.project(people, controls, tolerance=1e-14),
        pt.project(people, controls, ratio_bounds=(0.01, 100)),
    )
    np.testing.assert_allclose(bounded.table.values, plain.table.values, rtol=1e-12)
    assert bounded.divergence == pytest.approx(plain.divergence, abs=1e-13)
    np.testing.assert_allclose(bounded.objective, plain.objective, atol=1e-13)


def test_rows__of_a_plain_projection_are_its_targets_with_potentials():
    people, controls = survey()
    result = pt.project(people, controls, tolerance=1e-14)
    found = result.rows
    assert list(found.label.values) == ["sex=f", "sex=m", "age=o", "age=y"]
    np.testing.assert_allclose(found.value.values, [5.2, 4.8, 3.5, 6.5], rtol=1e-10)
    assert set(found.state.values) == {"met"}
    log_ratio = float(np.log(result.table.sel(sex="f", age="y").item() / 3))
    potential = dict(zip(found.label.values, found.potential.values))
    assert potential["sex=f"] + potential["age=y"] == pytest.approx(log_ratio, abs=1e-9)


def test_project__linear_distance_is_the_regression_estimator():
    people, controls = survey()
    result = pt.project(people, controls, distance="linear")
    x = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])  # f, m, young; fo fy mo my
    d = np.array([1.0, 3.0, 5.0, 1.0])
    wanted = np.array([5.2, 4.8, 6.5])
    slope = np.linalg.solve(x.T @ (d[:, None] * x), wanted - d @ x)
    np.testing.assert_allclose(ratios(result, people), 1 + x @ slope, rtol=1e-10)


def test_project__logit_distance_keeps_ratios_inside_their_bounds():
    people, controls = survey()
    result = pt.project(people, controls, distance="logit", ratio_bounds=(0.4, 2.5))
    found = np.array(ratios(result, people))
    odds = np.log((found - 0.4) / (2.5 - found))
    assert odds[1] - odds[0] == pytest.approx(odds[3] - odds[2], abs=1e-9)  # additive in sex and age
    with pytest.raises(pt.InvalidOptionError, match="strictly around the reference"):
        pt.project(people, controls, distance="logit", ratio_bounds=(1.0, 2.5))


def test_project__signed_reference_is_the_gras_balance():
    values = np.array([[30.0, 10, -4], [12, 25, 6], [5, -3, 9]])
    names = {"r": list("abc"), "s": list("uvw")}
    reference = xr.DataArray(values, coords=names, dims=("r", "s"))
    r = pt.Marginal(xr.DataArray([40.0, 45, 12], coords={"r": list("abc")}, dims="r"))
    s = pt.Marginal(xr.DataArray([50.0, 34, 13], coords={"s": list("uvw")}, dims="s"))
    result = pt.project(reference, [r, s], signed=True)
    expected = [[32.521853, 10.925456, -3.447310], [12.380282, 25.994104, 6.625615], [5.097865, -2.919560, 9.821695]]
    np.testing.assert_allclose(result.table.values, expected, atol=1e-6)
    # the answer is r_i a_ij s_j on positive entries and a_ij / (r_i s_j) on negative ones
    logs = np.log(result.table.values / values)
    assert logs[1, 0] + logs[0, 1] - logs[0, 0] == pytest.approx(logs[1, 1], abs=1e-11)
    with pytest.raises(pt.InvalidTableError, match="signed=True"):
        pt.project(reference, [r, s], total="free")


def test_project__cell_bounds_keep_known_cells():
    names = {"r": list("abc"), "s": list("uvwx")}
    reference = xr.DataArray(np.ones((3, 4)), coords=names, dims=("r", "s"))
    r = pt.Marginal(xr.DataArray([50.0, 30, 20], coords={"r": list("abc")}, dims="r"))
    s = pt.Marginal(xr.DataArray([40.0, 25, 20, 15], coords={"s": list("uvwx")}, dims="s"))
    low, high = xr.zeros_like(reference), xr.full_like(reference, np.inf)
    for table in (low, high):
        table.loc["a", "u"], table.loc["c", "x"] = 30.0, 2.0
    result = pt.project(reference, [r, s], cell_bounds=(low, high))
    expected = [
        [30, 7.858284, 6.286627, 5.855089],
        [5.594184, 9.589392, 7.671513, 7.144911],
        [4.405816, 7.552324, 6.041860, 2],
    ]
    np.testing.assert_allclose(result.table.values, expected, atol=1e-6)
    assert result.table.values[0, 0] == 30.0


def test_project__kl_soft_rows_with_a_free_total_are_unbalanced_transport():
    side = np.arange(3)
    values = np.exp(-np.abs(side[:, None] - side) / 0.5)
    reference = xr.DataArray(values, coords={"i": side, "j": side}, dims=("i", "j"))
    by_row, by_column = np.repeat(np.eye(3), 3, axis=1), np.tile(np.eye(3), 3)
    soft = {"penalty": "kl", "strength": np.ones(3)}
    asked = [rows(by_row, [0.5, 0.3, 0.2], **soft), rows(by_column, [0.3, 0.6, 0.3], **soft)]
    result = pt.project(reference, asked, total="free")
    expected = [[0.479558, 0.105092, 0.011175], [0.040369, 0.483011, 0.051363], [0.005039, 0.060295, 0.350066]]
    np.testing.assert_allclose(result.table.values, expected, atol=1e-6)
    assert float(result.table.sum()) == pytest.approx(1.585968917, abs=1e-9)
    assert result.certified


@pytest.mark.parametrize("total", ["free", 95.0])
def test_project__noisy_targets_with_standard_errors(total):
    reference = xr.DataArray(
        np.ones((2, 3, 2)), coords={"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, dims=("a", "b", "c")
    )
    ab = np.kron(np.eye(6), np.ones(2))
    bc = np.tile(np.eye(6), 2)
    asked = [
        rows(ab, [30, 12, -1.5, 20, 25, 10], penalty="quadratic", sd=np.ones(6)),
        rows(bc, [31, 22, 15, 20, 6, 2], penalty="quadratic", sd=np.full(6, 3.0)),
    ]
    result = pt.project(reference, asked, total=total)
    first = {"free": [15.835103, 11.934984, 4.716715], 95.0: [16.519982, 12.593820, 5.321389]}[total]
    np.testing.assert_allclose(result.table.values.reshape(-1)[:3], first, atol=1e-6)
    assert float(result.table.sum()) == pytest.approx({"free": 87.928467, 95.0: 95.0}[total], abs=1e-6)
    assert result.certified


def test_project__a_numeric_row_of_large_numbers_is_as_exact_as_the_centred_one():
    rng = np.random.default_rng(5)
    reference = pt.tabulate({"k": np.arange(200)}, weights=rng.random(200) + 0.5)
    spread = rng.integers(-1, 2, 200).astype(float)
    total = 1024.0
    one = rows(np.ones(200), total)
    centred = pt.project(reference, [one, rows(spread, 51.0)])
    large = pt.project(reference, [one, rows(1e9 + spread, 1e9 * total + 51.0)])
    np.testing.assert_allclose(large.table.values, centred.table.values, rtol=1e-11)


def test_project__an_interval_binds_at_the_end_that_is_nearer():
    people, controls = survey()
    result = pt.project(people, [controls[0], rows([0, 0, 1, 1], 4.8), rows([1, 0, 1, 0], -np.inf, 4.0)])
    state = result.rows.state.values
    assert state[-1] == "upper"
    assert result.rows.value.values[-1] == pytest.approx(4.0, abs=1e-12)
    loose = pt.project(people, [controls[0], rows([1, 0, 1, 0], -np.inf, 9.0)])
    assert loose.rows.state.values[-1] == "inside"
    assert loose.rows.potential.values[-1] == 0.0


def test_project__zeros_that_bounds_and_targets_force_together_are_found():
    reference = xr.DataArray(np.ones((2, 2)), coords={"i": [0, 1], "j": [0, 1]}, dims=("i", "j"))
    i = pt.Marginal(xr.DataArray([1.0, 1.0], coords={"i": [0, 1]}, dims="i"))
    result = pt.project(reference, [i, rows([1, 0, 0, 0], 1.0, np.inf)])
    assert result.converged
    np.testing.assert_allclose(result.table.values, [[1.0, 0.0], [0.5, 0.5]], atol=1e-9)


def test_project__what_does_not_fit_is_refused_by_name():
    people, controls = survey()
    soft = rows([1, 0, 1, 0], -2.0, penalty="kl", strength=np.ones(1))
    with pytest.raises(pt.InvalidTableError, match="penalty='kl' needs targets that are not negative"):
        pt.project(people, [controls[0], soft])
    with pytest.raises(pt.InvalidOptionError, match="no hard constraint fixes the total"):
        pt.project(people, [rows([1, 0, 1, 0], 3.0)])
    with pytest.raises(pt.InvalidOptionError, match="solves marginals with targets only"):
        pt.project(people, controls, ratio_bounds=(0.5, 2), solver=Own())
    with pytest.raises(pt.InvalidOptionError, match=r"the options of IPF\(.*accept IPF\("):
        pt.project(people, controls, ratio_bounds=(0.5, 2), solver=pt.IPF(relaxation=1.5))
    with pytest.raises(pt.InvalidOptionError, match=r"GIS.* does not support bounds"):
        pt.project(people, controls, ratio_bounds=(0.5, 2), solver=pt.GIS())
    with pytest.raises(pt.InvalidOptionError, match=r"GIS.* needs hard rows"):
        pt.project(people, [controls[0], rows([1, 0, -1, 0], 0.5)], solver=pt.GIS())
    with pytest.raises(pt.InvalidOptionError, match="cross"):
        pt.project(people, controls, ratio_bounds=(2, 0.5))
    with pytest.raises(pt.InvalidOptionError, match="distance"):
        pt.project(people, controls, distance="l2")
    with pytest.raises(pt.InvalidOptionError, match="size"):
        pt.project(people, [rows(np.ones(4), 1.0), rows([1, 0, 0, 0], 0.2, penalty="quadratic", sd=np.ones(1))])


def _general_results():
    people, controls = survey()
    yield pt.project(people, controls, ratio_bounds=(0.55, 2.5))
    yield pt.project(people, controls, distance="linear", ratio_bounds=(0.5, 1.8))
    yield pt.project(people, controls, distance="logit", ratio_bounds=(0.4, 2.5))
    for soft in (
        {"penalty": "l1", "strength": np.full(2, 0.3)},
        {"penalty": "quadratic", "sd": np.array([0.5, 1.0])},
        {"penalty": "huber", "sd": np.array([0.1, 0.1])},
        {"penalty": "kl", "strength": np.full(2, 2.0)},
        {"penalty": "quadratic", "covariance": np.array([[1.0, 0.4], [0.4, 2.0]])},
    ):
        yield pt.project(people, [controls[0], rows([[1, 0, 1, 0], [0, 1, 0, 1]], [3.0, 8.0], **soft)])
    yield pt.project(people, [controls[0], rows([1, 0, 1, 0], -np.inf, 4.0)])


def test_verify__recomputes_answers_of_every_kind_with_code_of_its_own():
    for result in _general_results():
        assert result.certified
        found = pt.verify(result)
        assert found.failures == ()
        assert found.tv_bound < 1e-9


def test_verify__finds_an_answer_that_was_changed():
    for result in _general_results():
        answer = result.evidence.answer
        moved = replace(answer, masses=answer.masses * np.linspace(0.999, 1.001, len(answer.masses)))
        other = replace(result, evidence=replace(result.evidence, answer=moved))
        assert not pt.verify(other).passed


def test_save__keeps_results_of_every_kind_whole(tmp_path):
    for k, result in enumerate(_general_results()):
        path = tmp_path / f"{k}.nc"
        pt.save(result, path)
        loaded = pt.load(path)
        xr.testing.assert_identical(loaded.table, result.table)
        xr.testing.assert_identical(loaded.rows, result.rows)
        xr.testing.assert_identical(loaded.at_bound, result.at_bound)
        assert loaded.objective == result.objective
        assert loaded.tv_bound == result.tv_bound
        assert pt.verify(loaded).failures == ()
        again = pt.project(loaded.reference, loaded.constraints, ratio_bounds=(0.0, 1e9))
        assert len(again.rows.row) == len(result.rows.row)


def test_save__keeps_signs_and_verdicts(tmp_path):
    people, controls = survey()
    failed = pt.project(people, controls, ratio_bounds=(0.6, 2.5), on_failure="return")
    pt.save(failed, tmp_path / "failed.nc")
    assert str(pt.load(tmp_path / "failed.nc").diagnosis) == str(failed.diagnosis)


@pytest.mark.parametrize("judge", [pt.project, pt.diagnose])
def test_project__hard_negative_targets_are_refused_unless_masses_may_be_negative(judge):
    people, controls = survey()
    less = xr.DataArray([-1.0, 11.0], coords={"sex": ["f", "m"]}, dims="sex")
    with pytest.raises(pt.InvalidTableError, match=r"sex=f.*-1\.0.*purtensor\.soft.*signed=True"):
        judge(people, [pt.Marginal(less), controls[1]])


def test_project__chi_squared_distance_meets_negative_targets():
    people, _ = survey()
    less = xr.DataArray([-1.0, 11.0], coords={"sex": ["f", "m"]}, dims="sex")
    result = pt.project(people, pt.Marginal(less), distance="linear")
    reached = pt.to_dense(result.table).sum("age").sel(sex=["f", "m"])
    np.testing.assert_allclose(reached.values, less.values, atol=1e-12)


def test_standard_errors__of_a_bounded_projection_are_refused():
    people, controls = survey()
    result = pt.project(people, controls, ratio_bounds=(0.55, 2.5))
    with pytest.raises(pt.InvalidOptionError, match="not differentiable everywhere"):
        pt.standard_errors(result, size=100)
