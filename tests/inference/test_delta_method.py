from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor.solving.hessian.conjugate import Conjugate

PROTECTED = ["sex", "race"]
REFERENCE = {"sex": "m", "race": "w"}


def small_data(seed: int = 0, total: int = 3000) -> xr.DataArray:
    """Return regularised counts over 2 responses, 2 x 2 protected and 3 unprotected categories, dense."""
    rng = np.random.default_rng(seed)
    shape = (2, 2, 2, 3)
    masses = rng.dirichlet(np.full(24, 4.0)).reshape(shape)
    counts = rng.multinomial(total, masses.reshape(-1)).reshape(shape).astype(float)
    coords = {"hired": ["no", "yes"], "sex": ["f", "m"], "race": ["n", "w"], "age": ["young", "middle", "old"]}
    return pt.regularize(xr.DataArray(counts, coords=coords, dims=list(coords)), 0.5, response="hired")


def projected(f: xr.DataArray, conditions: str, reference: xr.DataArray | None = None) -> pt.Projection:
    constraints = pt.pur(f, response="hired", protected=PROTECTED, conditions=conditions)
    return pt.project(f if reference is None else reference, constraints, tolerance=1e-13, solver=pt.Newton())


def jacobian(f: xr.DataArray, conditions: str, *, uniform: bool) -> np.ndarray:
    """Return dq/df by central differences, each perturbation followed by a projection of its own."""
    columns = []
    for i in range(f.size):
        sides = []
        for sign in (1, -1):
            moved = f.values.reshape(-1).copy()
            moved[i] *= 1 + sign * 1e-4
            table = f.copy(data=(moved / moved.sum()).reshape(f.shape))
            sides.append(projected(table, conditions, pt.uniform(table) if uniform else None).table.values.reshape(-1))
        columns.append((sides[0] - sides[1]) / (2e-4 * f.values.reshape(-1)[i]))
    return np.array(columns).T


def oracle(f: xr.DataArray, conditions: str, size: int, *, uniform: bool) -> np.ndarray:
    """Return the covariance of q: J (diag f - f f^T) J^T / size, with matrices of all profiles."""
    p = f.values.reshape(-1)
    J = jacobian(f, conditions, uniform=uniform)
    return J @ (np.diag(p) - np.outer(p, p)) @ J.T / size


@pytest.mark.parametrize(
    ("conditions", "uniform"), [("P", False), ("PU", True), ("PUR", False), ("PUR", True), ("UR", False)]
)
def test_table__is_that_of_finite_differences(conditions: str, uniform: bool) -> None:
    f = small_data()
    result = projected(f, conditions, pt.uniform(f) if uniform else None)
    errors = pt.standard_errors(result, size=500, data=f)
    assert errors.reference_depends is not uniform
    covariance = oracle(f, conditions, 500, uniform=uniform)
    expected = np.sqrt(covariance.diagonal()).reshape(f.shape)
    np.testing.assert_allclose(errors.table.values, expected, rtol=1e-5)
    rng = np.random.default_rng(1)
    one, other = (f.copy(data=rng.normal(size=f.shape)) for _ in range(2))
    first, second = one.values.reshape(-1), other.values.reshape(-1)
    assert errors.of(one) == pytest.approx(np.sqrt(first @ covariance @ first), rel=1e-5)
    assert errors.covariance(one, other) == pytest.approx(first @ covariance @ second, rel=1e-5)


def test_table__on_a_support_with_zeros_is_that_of_finite_differences() -> None:
    f = small_data()
    f.loc[{"age": "old", "sex": "f", "race": "n"}] = 0.0
    f.loc[{"age": "young", "sex": "m", "race": "w", "hired": "yes"}] = 0.0
    sparse = pt.to_sparse(f / f.sum())
    errors = pt.standard_errors(projected(sparse, "PUR"), size=500)
    expected = np.sqrt(oracle(sparse, "PUR", 500, uniform=False).diagonal())
    assert len(expected) == 21
    np.testing.assert_allclose(errors.table.values, expected, rtol=1e-5)


def test_table__of_a_projection_with_zero_targets() -> None:
    f = small_data()
    target = pt.marginal(f, ["sex", "race"])
    target.loc[{"sex": "f", "race": "n"}] = 0.0
    data = f.copy()
    data.loc[{"sex": "f", "race": "n"}] = 0.0
    result = pt.project(pt.uniform(f), pt.Marginal(target / target.sum()), tolerance=1e-13)
    errors = pt.standard_errors(result, size=500, data=data).table
    assert float(errors.sel(sex="f", race="n").max()) == 0.0
    mass = float(target.sel(sex="m", race="w") / target.sum())
    assert float(errors.sel(sex="m", race="w")[0, 0]) == pytest.approx(np.sqrt(mass * (1 - mass) / 500) / 6, rel=1e-9)


def test_table__of_a_projection_that_is_the_data_is_multinomial() -> None:
    f = small_data()
    errors = pt.standard_errors(projected(f, "UR"), size=500)
    np.testing.assert_allclose(errors.table.values, np.sqrt(f.values * (1 - f.values) / 500), rtol=1e-9)


def test_table__of_independence_is_the_textbook_s() -> None:
    f = pt.marginal(small_data(), ["hired", "sex"])
    q = pt.project(f, pt.parity(f, response="hired", protected="sex"), tolerance=1e-13)
    a, b, ab = pt.marginal(f, "hired").values[:, None], pt.marginal(f, "sex").values[None], f.values
    # var(f(y) f(s)) n = f(s)^2 f(y)(1-f(y)) + f(y)^2 f(s)(1-f(s)) + 2 f(y) f(s) (f(y,s) - f(y) f(s))
    expected = b**2 * a * (1 - a) + a**2 * b * (1 - b) + 2 * a * b * (ab - a * b)
    errors = pt.standard_errors(q, size=200)
    assert errors.targets == ("parity",)
    np.testing.assert_allclose(errors.table.values, np.sqrt(expected / 200), rtol=1e-7)


def test_table__has_the_units_and_the_layout_of_the_projection() -> None:
    f = small_data()
    errors = pt.standard_errors(projected(f, "PUR"), size=500)
    sparse = pt.to_sparse(f) * 500
    counted = pt.standard_errors(projected(sparse, "PUR"), size=500).table
    assert counted.dims == ("profile",)
    np.testing.assert_allclose(pt.to_dense(counted).sel(errors.table.coords), 500 * errors.table, rtol=1e-6)


@pytest.mark.parametrize("conditions", ["U", "UR"])
def test_disparities__are_those_of_finite_differences(conditions: str) -> None:
    f = small_data()
    result = projected(f, conditions)
    errors = pt.standard_errors(result, size=500)
    p = f.values.reshape(-1)
    roles = {"response": "hired", "protected": PROTECTED, "reference": REFERENCE}
    J = jacobian(f, conditions, uniform=False)
    for measure, method in (
        (pt.disparity_ratio, errors.disparity_ratio),
        (pt.attributable_disparity, errors.attributable_disparity),
    ):
        gradient = []
        for i in range(f.size):
            sides = []
            for sign in (1, -1):
                moved = result.table.values.reshape(-1).copy()
                moved[i] += sign * 1e-6
                sides.append(measure(f.copy(data=moved.reshape(f.shape)), **roles))
            gradient.append(((sides[0] - sides[1]) / 2e-6).values.reshape(-1))
        D = np.array(gradient).T @ J
        expected = np.sqrt((D @ (np.diag(p) - np.outer(p, p)) @ D.T).diagonal() / 500)
        found = method(**roles)
        assert found.dims == measure(result.table, **roles).dims
        np.testing.assert_allclose(found.values.reshape(-1), expected, rtol=1e-5, atol=1e-12)
        assert found.sel(hired="yes", sex="f", race="n") > 0.01


def test_disparities__have_no_error_where_parity_is_a_constraint() -> None:
    errors = pt.standard_errors(projected(small_data(), "PUR"), size=500)
    ratio = errors.disparity_ratio(response="hired", protected=PROTECTED, reference=REFERENCE)
    assert float(abs(ratio).max()) < 1e-9
    assert float(errors.table.min()) > 1e-4


def resampled(f: xr.DataArray, roles: dict[str, object], size: int, times: int, seed: int) -> list[xr.DataArray]:
    """Return the PUR projections of multinomial samples of f, regularised on its support."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(times):
        counts = pt.sample(f, size, seed=rng)
        again = pt.regularize(counts, 1e-2, response=roles["response"], support=f)
        found.append(pt.project(again, pt.pur(again, **roles), tolerance=1e-9, certificate=False).table)
    return found


def test_table__is_the_spread_of_projections_of_resampled_data() -> None:
    f, size, times = small_data(), 5000, 200
    roles = {"response": "hired", "protected": PROTECTED}
    draws = np.array([table.values for table in resampled(f, roles, size, times, seed=2)])
    errors = pt.standard_errors(projected(f, "PUR"), size=size).table.values
    ratio = draws.std(axis=0, ddof=1) / errors
    noise = 1 / np.sqrt(2 * times)  # of a standard deviation from so many normal draws
    assert abs(ratio - 1).max() < 4 * noise
    assert abs(ratio.mean() - 1) < 2 * noise


def test_table__is_the_spread_of_resampled_adult_data() -> None:
    counts = pt.datasets.adult()
    roles = {"response": "income", "protected": ["gender", "race"]}
    f = pt.regularize(counts, response="income")
    size, times = int(counts.sum()), 80
    result = pt.project(f, pt.pur(f, **roles))
    draws = np.array([table.values for table in resampled(f, roles, size, times, seed=4)])
    large = result.table.values > 5e-4  # where samples have some 20 individuals, and the first order is enough
    assert large.sum() > 80
    ratio = draws.std(axis=0, ddof=1)[large] / pt.standard_errors(result, size=size).table.values[large]
    noise = 1 / np.sqrt(2 * times)
    assert abs(np.median(ratio) - 1) < 2 * noise
    assert abs(ratio - 1).max() < 5 * noise


def test_influence__does_not_depend_on_the_form_of_the_matrix() -> None:
    errors = pt.standard_errors(projected(small_data(), "PUR"), size=500)
    iterative = Conjugate(errors.influence.problem.system, "conjugate gradients")
    _, factored = iterative.factor_and_solve(errors.influence.q, np.zeros(errors.influence.problem.system.rows))
    gradient = np.random.default_rng(5).normal(size=24)
    one, other = (form.of(gradient) for form in (errors.influence, replace(errors.influence, factored=factored)))
    np.testing.assert_allclose(one - one[0], other - other[0], atol=1e-9)
    assert np.ptp(one) > 1


def test_standard_errors__shrink_with_the_root_of_the_size() -> None:
    result = projected(small_data(), "PUR")
    one, four = (pt.standard_errors(result, size=size).table.values for size in (1000, 4000))
    np.testing.assert_allclose(one, 2 * four, rtol=1e-12)


def test_standard_errors__fixed_targets_have_no_error() -> None:
    f = small_data()
    known = pt.standard_errors(projected(f, "R"), size=500, targets=["fixed"])
    sampled = pt.standard_errors(projected(f, "R"), size=500)
    population = f.copy(data=np.zeros(f.shape))
    population.loc[{"sex": "f", "race": "n", "age": "old"}] = 1.0
    assert known.of(population) < 1e-12
    mass = float(f.sel(sex="f", race="n", age="old").sum())
    assert sampled.of(population) == pytest.approx(np.sqrt(mass * (1 - mass) / 500), rel=1e-9)


def test_standard_errors__targets_that_can_be_read_once() -> None:
    result = projected(small_data(), "PUR")
    named = pt.standard_errors(result, size=10, targets=iter(["parity", "marginal", "marginal"]))  # type: ignore[arg-type]
    assert named.targets == ("parity", "marginal", "marginal")
    assert named.table.identical(pt.standard_errors(result, size=10).table)


def test_standard_errors__refuses_what_has_none(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    f = small_data()
    result = projected(f, "PUR")
    for size in (0, 1.5, True, -3):
        with pytest.raises(pt.InvalidOptionError, match="size must be the number of individuals"):
            pt.standard_errors(result, size=size)
    with pytest.raises(pt.InvalidOptionError, match="give the table that the targets came from as data="):
        pt.standard_errors(projected(f, "PUR", pt.uniform(f)), size=10)
    with pytest.raises(pt.InvalidOptionError, match="targets must be one of marginal, parity, fixed for each of 3"):
        pt.standard_errors(result, size=10, targets=["parity"])
    with pytest.raises(pt.InvalidOptionError, match=r"for each of 3 constraints, got \['parity', 'marginals'\]"):
        pt.standard_errors(result, size=10, targets=iter(["parity", "marginals"]))
    with pytest.raises(pt.InvalidOptionError, match=r"over \(hired, age\) is no parity"):
        pt.standard_errors(result, size=10, targets=["parity", "parity", "marginal"])
    stopped = pt.project(f, result.constraints, max_iterations=0, on_failure="return")
    with pytest.raises(pt.InvalidOptionError, match="has not converged"):
        pt.standard_errors(stopped, size=10)
    errors = pt.standard_errors(result, size=10)
    with pytest.raises(pt.InvalidTableError, match="the gradient is over"):
        errors.of(pt.marginal(f, "sex"))
    with pytest.raises(pt.InvalidOptionError, match="reference must name a category for each of sex, race"):
        errors.disparity_ratio(response="hired", protected=PROTECTED, reference={"sex": "m"})
    monkeypatch.setattr("purtensor.inference.delta_method.LARGEST_TABLE", 10)
    with pytest.raises(pt.TooLargeError, match="24 profiles need as many solves"):
        _ = pt.standard_errors(result, size=10).table


def test_standard_errors__refuses_a_projection_from_a_file(tmp_path: object) -> None:
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    path = f"{tmp_path}/fair.nc"
    pt.save(projected(small_data(), "PUR"), path)
    with pytest.raises(pt.InvalidOptionError, match="loaded from a file"):
        pt.standard_errors(pt.load(path), size=10)


def test_standard_errors__stay_what_they_are_when_the_potentials_are_asked_for() -> None:
    result = projected(small_data(), "PUR")
    errors = pt.standard_errors(result, size=500)
    before = errors.table.values
    assert np.isfinite(result.potentials[0].values).any()
    errors.__dict__.pop("table")
    assert np.array_equal(errors.table.values, before)
