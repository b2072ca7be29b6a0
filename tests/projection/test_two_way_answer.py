"""Dense two-way tables with mass everywhere: what their own way answers is what the general form answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import purtensor as pt
from purtensor.kernels.engine import engine
from purtensor.projection import product_question
from purtensor.projection.product_answer import ProductEvidence
from purtensor.solving.iterate import Residual
from purtensor.solving.solvers.ipf import two_way_sweeps
from purtensor.solving.spaces.two_way import TwoWaySpace
from tests.projection.test_product_answer import assert_same, both, positive, targets_of

SOLVERS = {"chosen": None, "IPF": pt.IPF(), "turned": pt.IPF(order=(1, 0))}


@pytest.fixture(autouse=True)
def _small_tables_too(monkeypatch):
    monkeypatch.setattr(product_question, "SMALLEST", 0)
    monkeypatch.setattr(product_question, "SMALLEST_TWO_WAY", 0)
    monkeypatch.setattr(two_way_sweeps, "SMALLEST", 0)
    with engine(plain=False):
        yield


def question(shape=(7, 11), seed=0, spread=1.0):
    reference = positive(shape, seed, spread, "ij")
    return reference, targets_of(positive(shape, seed + 1, spread, "ij") * 37.0, ["i", "j"])


@pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("shape", [(7, 11), (4, 6), (16, 8), (5, 40)])
def test_project__is_what_the_general_form_answers(shape, solver):
    own, general = both(*question(shape), solver=solver)
    assert_same(own, general)
    assert pt.verify(own).passed
    for one, other in zip(own.potentials, general.potentials, strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-9)
    for name in ("residual", "kl_step", "dual"):
        assert own.trace[name].values == pytest.approx(general.trace[name].values, rel=1e-5, abs=1e-12)


def test_project__of_several_attributes_in_any_order_of_axes():
    reference, wanted = positive((2, 3, 4, 3), 3, 0.5, "abcd"), positive((2, 3, 4, 3), 4, 0.5, "abcd")
    constraints = targets_of(wanted.transpose(*"dbca"), ("ca", "db"))
    for solver in SOLVERS.values():
        own, general = both(reference.transpose(*"cadb"), constraints, solver=solver)
        assert_same(own, general)
    assert pt.verify(own).passed
    assert own.jvp(log_reference=reference * 0 + 1.0).values == pytest.approx(0.0, abs=1e-12)


@given(
    shape=st.tuples(st.integers(4, 9), st.integers(4, 9)),
    seed=st.integers(0, 1000),
    spread=st.sampled_from([0.1, 0.5, 1.5, 4.0]),
    sweeps=st.sampled_from([1, 2, 4, 1000]),
)
@settings(max_examples=40)
def test_project__proves_no_less_than_the_distance(shape, seed, spread, sweeps):
    reference, constraints = question(shape, seed, spread)
    own = pt.project(reference, constraints, max_iterations=sweeps, on_failure="return")
    exact = pt.project(reference, constraints, solver=pt.Newton(), tolerance=1e-15, on_failure="return")
    total = float(exact.table.sum())
    distance = 0.5 * abs(own.table.values - exact.table.values).sum() / total
    assert distance <= own.tv_bound + exact.tv_bound
    q, p = exact.table.values / total, own.table.values / float(own.table.sum())
    assert float((q * np.log(q / p) - q + p).sum()) <= own.bound * (1 + 1e-6) + 1e-13
    assert own.certified or sweeps < 1000
    assert not pt.verify(own, exact=True).failures or sweeps < 1000


@pytest.mark.parametrize("reach", [0.2, 0.05])
def test_project__of_transport_to_rounding_with_proof(reach):
    rng = np.random.default_rng(0)
    x, y = rng.random((30, 1, 2)), rng.random((1, 24, 2))
    kernel = positive((30, 24), 0, 1.0, "ij").copy(data=np.exp(-((x - y) ** 2).sum(axis=2) / reach))
    masses = np.outer(rng.dirichlet(np.full(30, 5.0)), rng.dirichlet(np.full(24, 5.0)))
    constraints = targets_of(kernel.copy(data=masses), ["i", "j"])
    own = pt.project(kernel, constraints, tolerance=1e-15)
    assert isinstance(own.evidence, ProductEvidence)
    assert own.residual_l1 < 1e-13
    assert own.tv_bound < 1e-12
    newton = pt.project(kernel, constraints, solver=pt.Newton(), tolerance=1e-15, on_failure="return")
    assert float(np.abs(own.table - newton.table).sum()) <= 2 * (own.tv_bound + newton.tv_bound)
    assert pt.verify(own).passed


def test_project__keeps_its_bits_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(two_way_sweeps, "CELLS_PER_CHUNK", 64)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("PURTENSOR_THREADS", threads)
        found.append(pt.project(*question((40, 17))))
    one, other = found
    assert isinstance(one.evidence, ProductEvidence)
    assert one.table.values.tolist() == other.table.values.tolist()
    assert (one.bound, one.tv_bound, one.divergence) == (other.bound, other.tv_bound, other.divergence)


def test_project__a_run_goes_on_where_the_written_masses_miss_the_tolerance(monkeypatch):
    reference, constraints = question()
    written, rebuild = [], TwoWaySpace.rebuild

    def spoilt(self, point, *, quickly=False):
        made = rebuild(self, point, quickly=quickly)
        if not written:
            self.found.residual = Residual(1.0, 1.0)
        written.append(self.sweeps.done)
        return made

    monkeypatch.setattr(TwoWaySpace, "rebuild", spoilt)
    found = pt.project(reference, constraints)
    assert found.converged
    assert written[0] < found.iterations == written[-1]


def test_project__leaves_to_the_general_form_what_it_cannot_do(monkeypatch):
    def general(reference, constraints, **options):
        found = pt.project(reference, constraints, **{"on_failure": "return", **options})
        assert not isinstance(found.evidence, ProductEvidence)
        return found

    reference, constraints = question()
    zero = [pt.Marginal(constraints[0].target.where(constraints[0].target["i"] > 0, 0.0)), constraints[1]]
    assert general(
        reference, [pt.Marginal(zero[0].target * float(constraints[1].target.sum() / zero[0].target.sum())), zero[1]]
    )
    assert general(reference.where(reference["i"] > 0, 0.0), targets_of(reference.where(reference["i"] > 0, 0.0), "ij"))
    assert general(*question((9, 2))).converged  # rows of two cells fill no octet
    assert general(reference * 1e-304, constraints).converged
    assert general(reference, constraints, solver=pt.IPF(relaxation=1.2)).converged
    assert general(reference, targets_of(reference, "ij")).iterations == 0  # nothing moves: no divergence
    monkeypatch.setattr(two_way_sweeps, "LARGEST_FACTOR", 1.01)
    assert general(reference, constraints).converged
