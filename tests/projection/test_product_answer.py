"""Dense tables with mass in every cell: what their own way answers is what the general form answers."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import purtensor as pt
from purtensor.errors import InconsistentTargetsError, InfeasibleError, InvalidTableError
from purtensor.kernels.engine import engine
from purtensor.projection import product_question
from purtensor.projection.product_answer import ProductEvidence
from purtensor.solving.certificate import UNPROVED, DualCertifier
from purtensor.solving.solvers.ipf import product_sweeps
from purtensor.solving.spaces.product import ProductSpace

SETS = {
    "PUR": ("yx", "sx", "ys"),
    "parity between": ("yx", "ys", "sx"),
    "two": ("yx", "sx"),
    "turned": ("sx", "yx"),
}


@pytest.fixture(autouse=True)
def _small_tables_too(monkeypatch):
    monkeypatch.setattr(product_question, "SMALLEST", 0)
    with engine(plain=False):
        yield


def positive(shape, seed, spread=1.0, dims="ysx"):
    """A positive table, its categories numbers."""
    values = np.exp(spread * np.random.default_rng(seed).standard_normal(shape))
    return xr.DataArray(values, dims=list(dims), coords={d: np.arange(n) for d, n in zip(dims, shape, strict=True)})


def targets_of(table, scopes):
    return [pt.Marginal(c.target) for c in pt.marginals_of(table, [tuple(scope) for scope in scopes])]


def seen(progress):
    """Look at points, which only the general form has."""


def both(reference, constraints, **options):
    own = pt.project(reference, constraints, on_failure="return", **options)
    general = pt.project(reference, constraints, on_failure="return", callback=seen, **options)
    assert isinstance(own.evidence, ProductEvidence)
    assert not isinstance(general.evidence, ProductEvidence)
    return own, general


def assert_same(own, general):
    total = float(general.table.sum())
    assert own.table.dims == general.table.dims
    assert abs(own.table.values - general.table.values).sum() <= 1e-12 * total
    assert (own.termination, own.iterations, own.certified) == (general.termination, general.iterations, True)
    assert own.residual == pytest.approx(general.residual, rel=1e-3, abs=1e-15)
    assert own.residual_l1 == pytest.approx(general.residual_l1, rel=1e-3, abs=1e-14)
    assert own.divergence == pytest.approx(general.divergence, rel=1e-9)
    assert own.tv_bound <= 1.1 * general.tv_bound + 1e-13


@pytest.mark.parametrize("solver", [None, pt.IPF()], ids=["chosen", "IPF"])
@pytest.mark.parametrize("shape", [(2, 3, 40), (3, 2, 17), (2, 2, 8)])
@pytest.mark.parametrize("scopes", SETS.values(), ids=SETS)
def test_project__is_what_the_general_form_answers(scopes, shape, solver):
    reference = positive(shape, 0, 0.3)
    constraints = targets_of(positive(shape, 1, 0.3) * 37.0, scopes)
    own, general = both(reference, constraints, solver=solver)
    assert_same(own, general)
    assert pt.verify(own).passed
    for one, other in zip(own.potentials, general.potentials, strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-9)
    for name in ("residual", "kl_step", "dual"):
        assert own.trace[name].values == pytest.approx(general.trace[name].values, rel=1e-6, abs=1e-13)


def test_project__of_several_attributes_in_any_order_of_axes():
    shape = (2, 3, 2, 4, 3)
    reference, wanted = positive(shape, 3, 0.3, "bysxa"), positive(shape, 4, 0.3, "bysxa")
    # slabs are (x, a), rows (y, b), columns s; axes and scopes stand in no helpful order
    constraints = targets_of(wanted.transpose(*"aybxs"), ("xyab", "sax", "bsy"))
    own, general = both(reference.transpose(*"xbasy"), constraints, solver=pt.IPF())
    assert_same(own, general)
    own, general = both(reference, constraints, solver=pt.IPF(order=(2, 0, 1)))
    assert_same(own, general)
    assert pt.verify(own).passed
    assert own.jvp(log_reference=reference * 0 + 1.0).values == pytest.approx(0.0, abs=1e-12)


@given(
    shape=st.tuples(st.integers(2, 4), st.integers(2, 4), st.integers(2, 40)),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.1, 0.5, 1.5]),
    sweeps=st.sampled_from([2, 4, 8, 1000]),
)
@settings(max_examples=25)
def test_project__proves_no_less_than_the_distance(shape, seed, spread, sweeps):
    reference, constraints = positive(shape, seed, spread), targets_of(positive(shape, seed + 1, spread), SETS["PUR"])
    own = pt.project(reference, constraints, solver=pt.IPF(), max_iterations=sweeps, on_failure="return")
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-14, on_failure="return")
    total = float(exact.table.sum())
    distance = 0.5 * abs(own.table.values - exact.table.values).sum() / total
    assert distance <= own.tv_bound + exact.tv_bound
    q, p = exact.table.values / total, own.table.values / float(own.table.sum())
    assert float((q * np.log(q / p) - q + p).sum()) <= own.bound * (1 + 1e-6) + 1e-13
    assert own.certified
    assert not pt.verify(own, exact=shape[2] < 4).failures or sweeps < 1000


def test_project__keeps_its_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(product_sweeps, "CELLS_PER_CHUNK", 64)
    reference, constraints = positive((2, 3, 200), 5, 0.3), targets_of(positive((2, 3, 200), 6, 0.3), SETS["PUR"])
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        found.append(pt.project(reference, constraints))
    one, other = found
    assert isinstance(one.evidence, ProductEvidence)
    assert one.table.values.tolist() == other.table.values.tolist()
    assert (one.bound, one.tv_bound, one.divergence) == (other.bound, other.tv_bound, other.divergence)


def test_project__leaves_to_the_general_form_what_sweeps_cannot_do():
    def general(reference, constraints, **options):
        found = pt.project(reference, constraints, **{"on_failure": "return", **options})
        assert not isinstance(found.evidence, ProductEvidence)
        return found

    reference, constraints = positive((2, 3, 40), 0), targets_of(positive((2, 3, 40), 1), SETS["PUR"])
    slow = positive((3, 4, 50), 2, 4.0), targets_of(positive((3, 4, 50), 3, 4.0), SETS["PUR"])
    assert any("Newton" in note for note in general(*slow).notes)
    assert general(reference.astype(np.float32), constraints).converged
    assert general(
        reference.where(reference > 0.1, 0.0), targets_of(reference.where(reference > 0.1, 0.0), ["yx", "sx"])
    )
    assert general(reference, [pt.Marginal(c.target.isel(x=slice(None, None, -1))) for c in constraints[:2]]).converged
    assert general(reference, constraints, solver=pt.IPF(relaxation=1.2)).converged
    assert general(reference, constraints, start=pt.project(reference, constraints)).converged
    assert general(reference, constraints, stop_on="tv_bound").converged
    assert general(reference, targets_of(reference, SETS["PUR"])).iterations == 0  # nothing moves: no divergence
    assert general(pt.to_sparse(reference), constraints).converged
    assert general(reference * 1e-200, constraints).converged


def test_project__refuses_as_the_general_form_does():
    reference, constraints = positive((2, 3, 40), 0), targets_of(positive((2, 3, 40), 1), SETS["PUR"])
    bad = reference.copy(deep=True)
    bad[1, 2, 7] = -1.0
    with pytest.raises(InvalidTableError, match="y=1, s=2, x=7"):
        pt.project(bad, constraints)
    with pytest.raises(InconsistentTargetsError):
        pt.project(reference, [constraints[0], pt.Marginal(constraints[1].target * 2.0)])
    ys = positive((2, 2), 2, dims="ys")
    ys[:] = [[0.4, 0.1], [0.1, 0.4]]
    yx, sx = positive((2, 2), 2, dims="yx"), positive((2, 2), 2, dims="sx")
    yx[:], sx[:] = [[0.49, 0.01], [0.01, 0.49]], [[0.01, 0.49], [0.49, 0.01]]  # by x, y and s are opposites
    with pytest.raises(InfeasibleError):
        pt.project(positive((2, 2, 2), 0), [pt.Marginal(target) for target in (yx, sx, ys)])


def test_project__ends_at_limits_and_keeps_a_proof():
    reference, constraints = positive((2, 3, 60), 0, 1.5), targets_of(positive((2, 3, 60), 1, 1.5), SETS["PUR"])
    own, general = both(reference, constraints, solver=pt.IPF(), max_iterations=5)
    assert own.termination is pt.results.Termination.ITERATION_LIMIT
    assert_same(own, general)
    with pytest.raises(pt.NotConvergedError, match="after 5 iterations"):
        pt.project(reference, constraints, solver=pt.IPF(), max_iterations=5)
    bare = pt.project(reference, constraints, solver=pt.IPF(), certificate=False)
    assert (bare.certified, bare.bound, bare.tv_bound) == (False, np.inf, 1.0)


def test_project__saves_and_pickles(tmp_path):
    import pickle

    reference, constraints = positive((2, 3, 20), 0, 0.3), targets_of(positive((2, 3, 20), 1, 0.3), SETS["PUR"])
    found = pt.project(reference, constraints)
    again = pickle.loads(pickle.dumps(found))
    assert again.table.identical(found.table)
    pt.save(again, tmp_path / "found.nc")
    loaded = pt.load(tmp_path / "found.nc")
    assert loaded.table.identical(found.table)
    assert pt.verify(loaded).passed


def test_project__switches_to_newton_where_the_general_form_does():
    # slow enough that Newton's steps pay, by counts of operations, on a table of many slabs
    values = np.exp(3.0 * np.random.default_rng(0).standard_normal((2, 3, 4000)))
    reference = xr.DataArray(values, dims=list("ysx"), coords={"y": [0, 1], "s": range(3), "x": range(4000)})
    constraints = pt.pur(reference, response="y", protected="s")
    own = pt.project(reference, constraints, on_failure="return")
    general = pt.project(reference, constraints, on_failure="return", callback=seen)
    assert own.notes == general.notes
    assert any("then Newton" in note for note in own.notes)
    assert own.iterations == general.iterations


def test_bounds__in_the_general_form_are_about_the_masses_of_the_table(monkeypatch):
    """The general form makes masses of logarithms of the factors, and rounds them otherwise."""
    certified = []

    def certify(self, iterate):
        certified.append(iterate)
        return UNPROVED

    monkeypatch.setattr(ProductSpace, "certificate", lambda self: UNPROVED)
    monkeypatch.setattr(DualCertifier, "certify", certify)
    reference, others = positive((4, 5, 60), 1), positive((4, 5, 60), 2)
    found = pt.project(reference, targets_of(others, SETS["PUR"]), solver=pt.IPF())
    assert not found.certified
    own, again = certified[0].masses, found.evidence.run.iterate.masses
    exponent = found.evidence.labelled.target_exponent
    assert sorted(np.ldexp(own, exponent)) == sorted(found.table.values.reshape(-1))
    assert not np.array_equal(own, again)
    assert own == pytest.approx(again, rel=1e-13)
