"""The solvers of the gallery: short, and as right as those that are built in."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import cg

import purtensor as pt
from purtensor import solvers
from tests.test_project_files import EXAMPLES

SOURCE = EXAMPLES / "own_solvers.py"
CLASSES = [node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.ClassDef)]


def solver_of(node: ast.ClassDef) -> Any:
    """Return an instance of a class of the example, without running the rest of it."""
    names: dict[str, Any] = {"np": np, "sparse": sparse, "cg": cg, "pt": pt, "solvers": solvers}
    exec(compile(ast.Module([node], []), str(SOURCE), "exec"), names)
    return names[node.name]()


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_example__is_short(node):
    assert node.end_lineno - node.lineno + 1 <= 30


@pytest.mark.parametrize("name", ["haberman", "a", "b_lam0"])
@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_example__finds_the_projection(node, name):
    problem = pt.problems.load(name)
    exact = pt.project(problem.reference, problem.constraints, solver=pt.Newton(), tolerance=1e-13)
    found = pt.project(problem.reference, problem.constraints, solver=solver_of(node), max_iterations=500)
    assert found.converged
    assert pt.total_variation(found.table, exact.table) < 1e-8
    assert pt.verify(found).passed


def test_example__greedy_scaling_tells_what_it_touches():
    runs = pt.compare("a", [solver_of(CLASSES[0]), "ipf"], repetitions=1).runs
    assert runs["iterations"][0] < runs["iterations"][1]
    assert 0 < runs["cell_touches"][0] < np.inf


def test_example__a_thinned_hessian_takes_few_steps():
    problem = pt.problems.load("b_lam0")
    solver = solver_of(CLASSES[3])
    found = pt.project(problem.reference, problem.constraints, solver=solver)
    assert found.iterations - solver.sweeps <= 8
