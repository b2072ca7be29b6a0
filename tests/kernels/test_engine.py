"""Which form of the kernels runs, and that both give the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import purtensor as pt
from purtensor._threads import for_each_chunk
from purtensor.kernels import engine as module
from purtensor.kernels._jit import Kernel
from purtensor.kernels.engine import engine, engine_for, has_kept_kernels, prefers_numpy, runs_in_numpy
from purtensor.kernels.newton.line_search import curvature

NAMED = ("a", "b_lam0", "b_inf", "haberman_boundary", "proxy")
FAMILIES = {
    "pur": {"responses": 3, "protected": 4, "unprotected": 150, "records": 9000},
    "binary": {"attributes": 8},
    "cube": {"categories": 6},
    "records": {"profiles": 300, "attributes": 4, "categories": 9},
}


@pytest.fixture
def unpinned(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.delenv("PURTENSOR_ENGINE")
    return monkeypatch


def agree(problem: pt.problems.NamedProblem | SimpleNamespace, solver: object = None) -> None:
    found = []
    for plain in (False, True):
        with engine(plain=plain):
            found.append(
                pt.project(
                    problem.reference, problem.constraints, solver=solver, max_iterations=500, on_failure="return"
                )
            )
    compiled, plain_one = found
    assert plain_one.termination is compiled.termination
    assert plain_one.iterations == compiled.iterations
    assert plain_one.certified == compiled.certified
    apart = float(np.abs(compiled.table.values - plain_one.table.values).sum()) / float(compiled.table.values.sum())
    assert apart < 1e-12
    assert plain_one.tv_bound == pytest.approx(compiled.tv_bound, rel=0.1)
    assert plain_one.divergence == pytest.approx(compiled.divergence, rel=1e-9)
    assert plain_one.notes == compiled.notes or not compiled.converged


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("solver", [None, pt.IPF(), pt.Newton()], ids=["auto", "ipf", "newton"])
def test_engines__agree_on_named_problems(name: str, solver: object) -> None:
    agree(pt.problems.load(name), solver)


@pytest.mark.parametrize("family", FAMILIES)
def test_engines__agree_on_drawn_problems(family: str) -> None:
    agree(pt.problems.generate(family, seed=3, **FAMILIES[family]))


@pytest.mark.parametrize("conditions", ["P", "PU", "UR"])
def test_engines__agree_where_no_rows_are_coupled(conditions: str) -> None:
    f = pt.regularize(pt.datasets.adult(split="train"), response="income")
    constraints = pt.pur(f, response="income", protected=["gender", "race"], conditions=conditions)
    agree(SimpleNamespace(reference=f, constraints=constraints))


@pytest.mark.parametrize("name", NAMED)
def test_engines__agree_on_verdicts_ranks_and_potentials(name: str) -> None:
    problem, told = pt.problems.load(name), []
    for choice in ("plain", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PURTENSOR_ENGINE", choice)
            matrix = pt.coefficients(problem.reference, problem.constraints)
            found = pt.project(problem.reference, problem.constraints, on_failure="return", max_iterations=200)
            verdict = pt.diagnose(problem.reference, problem.constraints).verdict
            told.append((verdict, matrix.rank, list(matrix.independent_rows)))
            potentials = [np.nan_to_num(one.values, neginf=-99.0) for one in found.potentials]
            told.append(np.concatenate([one.ravel() for one in potentials]) if found.converged else np.zeros(1))
    assert told[0] == told[2]
    np.testing.assert_allclose(told[1], told[3], rtol=1e-7, atol=1e-7)


def test_prefers_numpy__where_no_kernels_are_kept_up_to_a_size(unpinned: pytest.MonkeyPatch) -> None:
    unpinned.setattr(module, "has_kept_kernels", lambda: False)
    assert prefers_numpy(module.COLD)
    assert not prefers_numpy(module.COLD + 1)
    unpinned.setattr(module, "has_kept_kernels", lambda: True)
    assert not prefers_numpy(1)


def test_prefers_numpy__as_the_environment_asks(unpinned: pytest.MonkeyPatch) -> None:
    unpinned.setenv("PURTENSOR_ENGINE", "plain")
    assert prefers_numpy(10**9)
    unpinned.setenv("PURTENSOR_ENGINE", "compiled")
    assert not prefers_numpy(1)
    unpinned.setenv("PURTENSOR_ENGINE", "numpy")
    with pytest.raises(pt.InvalidOptionError, match="PURTENSOR_ENGINE must be 'plain' or 'compiled', got 'numpy'"):
        prefers_numpy(1)


def test_engine_for__notes_numpy_and_keeps_what_was_chosen_outside(unpinned: pytest.MonkeyPatch) -> None:
    unpinned.setattr(module, "has_kept_kernels", lambda: False)
    with engine_for(10) as note:
        assert runs_in_numpy()
        assert note == "plain numpy, because no compiled kernels are cached (`purtensor warmup` compiles them)"
        with engine_for(module.COLD + 1) as inner:
            assert runs_in_numpy()
            assert inner == ""
    with engine_for(module.COLD + 1) as note:
        assert not runs_in_numpy()
        assert note == ""
    unpinned.setenv("PURTENSOR_ENGINE", "plain")
    with engine_for(10) as note:
        assert note == "plain numpy, as PURTENSOR_ENGINE asks"
    assert not runs_in_numpy()


def test_project__says_that_it_ran_in_numpy(unpinned: pytest.MonkeyPatch) -> None:
    problem = pt.problems.load("a")
    unpinned.setenv("PURTENSOR_ENGINE", "plain")
    assert pt.project(problem.reference, problem.constraints).notes[0] == "plain numpy, as PURTENSOR_ENGINE asks"
    unpinned.setenv("PURTENSOR_ENGINE", "compiled")
    assert pt.project(problem.reference, problem.constraints).notes == ()


def test_project__many_sweeps_go_on_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = pt.problems.load("b_lam0")
    with engine(plain=False):
        expected = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
    for pinned, reads in (("compiled", 0), ("", 10 * problem.reference.size * 3), ("", 1)):
        monkeypatch.setenv("PURTENSOR_ENGINE", pinned)
        monkeypatch.setattr(module, "_SWEEP_READS", reads)
        with engine(plain=True):
            found = pt.project(problem.reference, problem.constraints, solver=pt.IPF())
        assert found.iterations == expected.iterations
        np.testing.assert_allclose(found.table.values, expected.table.values, rtol=1e-11, atol=1e-15)


def test_engine__holds_on_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PURTENSOR_THREADS", "4")
    seen: list[bool] = []
    for plain in (True, False):
        with engine(plain=plain):
            for_each_chunk(lambda *_: seen.append(runs_in_numpy()), [(n, n + 1) for n in range(40)])
    assert seen == [True] * 40 + [False] * 40


FIRST_CALL = """
import sys
import purtensor as pt
from purtensor.kernels.engine import has_kept_kernels
problem = pt.problems.load("b_lam0")
f = pt.tabulate({"y": [0, 1, 1, 0], "s": [0, 0, 1, 1], "x": [1, 2, 1, 2]})
result = pt.project(pt.regularize(f, response="y", strength=1.0), pt.pur(f, response="y", protected="s"))
assert pt.project(problem.reference, problem.constraints).certified
print(has_kept_kernels(), "purtensor.kernels._numba" in sys.modules, result.notes[0])
"""


def test_project__first_calls_with_an_empty_cache_import_no_numba(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    del environment["PURTENSOR_ENGINE"]
    run = [sys.executable, "-c", FIRST_CALL]
    said = subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout
    assert (
        said == "False False plain numpy, because no compiled kernels are cached (`purtensor warmup` compiles them)\n"
    )


@pytest.mark.compiled("nothing is compiled")
def test_has_kept_kernels__finds_those_of_these_sources_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    has_kept_kernels.cache_clear()
    try:
        assert not has_kept_kernels()
        folder = tmp_path / "newton_0123"
        folder.mkdir()
        version = f"{sys.version_info[0]}{sys.version_info[1]}"
        index = folder / f"proof.add_proof-89.py{version}.nbi"
        index.write_bytes(b"of other sources")
        has_kept_kernels.cache_clear()
        assert not has_kept_kernels()
        index.write_bytes(b"..." + module.fingerprint(module._SAMPLE).digest.encode() + b"...")
        has_kept_kernels.cache_clear()
        assert has_kept_kernels()
    finally:
        has_kept_kernels.cache_clear()


@pytest.mark.compiled("without kernels there is no choice")
def test_kernels__warn_of_nothing_in_numpy() -> None:
    masses, direction = np.array([0.0, 0.5]), np.array([1e12, 1.0])
    with engine(plain=True):
        assert not np.isfinite(curvature(masses, direction, 1.0))


def test_project__of_masses_near_the_end_of_the_range_warns_of_nothing_in_numpy() -> None:
    f = pt.tabulate({"y": [0, 1, 1, 0], "s": [0, 0, 1, 1]}, weights=[1.0, 5e-324, 1.0, 1e-300])
    with engine(plain=True):
        found = pt.project(f, pt.parity(f, response="y", protected="s"), solver=pt.Newton(), on_failure="return")
    assert found.residual_l1 <= 1.0


def drawn_table() -> xr.DataArray:
    values = np.random.default_rng(0).random((2, 3, 4)) + 0.1
    return xr.DataArray(values / values.sum(), dims=["y", "s", "x"], coords={"y": [0, 1], "s": range(3), "x": range(4)})


@pytest.mark.parametrize(
    "of",
    [
        lambda found: pt.standard_errors(found, size=1000).table.values,
        lambda found: found.jvp(log_reference=found.reference * 0.0 + np.arange(found.reference.size).reshape(2, 3, 4)),
        lambda found: found.vjp(found.reference * found.reference).log_reference.values,
        lambda found: np.array([found.log_ratio_bound]),
    ],
    ids=["standard_errors", "jvp", "vjp", "log_ratio_bound"],
)
def test_what_is_asked_of_a_projection__is_the_same_in_both_forms(of):
    f = drawn_table()
    answers = []
    for plain in (True, False):
        with engine(plain=plain):
            answers.append(np.asarray(of(pt.project(f, pt.pur(f, response="y", protected="s"), tolerance=1e-13))))
    assert np.abs(answers[0]).max() > 0
    assert answers[0] == pytest.approx(answers[1], rel=1e-6, abs=1e-12)


def test_standard_errors__compile_nothing_where_no_kernels_are_kept(unpinned):
    f = drawn_table()
    unpinned.setattr(module, "has_kept_kernels", lambda: False)
    asked = []
    unpinned.setattr(Kernel, "dispatcher", property(lambda kernel: asked.append(kernel) or kernel.py_func))
    found = pt.project(f, pt.pur(f, response="y", protected="s"))
    assert (pt.standard_errors(found, size=1000).table.values > 0).all()
    assert not asked
