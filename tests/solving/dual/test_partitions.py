"""Marginals as rows of the dual: the same equations and the same answers as from written-out coefficients."""

from __future__ import annotations

import numpy as np
import pytest

import purtensor as pt
from purtensor.solving.dual import partitions
from purtensor.solving.dual.labelled import build_question
from purtensor.solving.dual.matrix import ExplicitMatrix
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.dual.partitions import PartitionMatrix, partition_matrix, partition_system

ROLES = {"response": "y", "protected": "s"}


def table(seed=3, unprotected=60):
    rng = np.random.default_rng(seed)
    codes = np.array(np.meshgrid(range(3), range(4), range(unprotected), indexing="ij")).reshape(3, -1)
    seen = rng.random(codes.shape[1]) < 0.8
    return pt.empirical(pt.tabulate(dict(zip("ysx", codes[:, seen])), weights=rng.gamma(0.5, 10.0, seen.sum()) + 1e-3))


def matrix_of(f, asked):
    question = build_question(f, asked, GeneralOptions()).question
    rows, cells = np.arange(question.rows), np.arange(len(question.reference))
    system = partition_system(question.blocks, question.offsets, rows, cells)
    hard = np.array([bool(block.equalities.all()) for block in question.blocks])
    return question, partition_matrix(system, hard), hard


@pytest.mark.parametrize("letters", ["P", "U", "R", "PU", "PUR"])
def test_partition_matrix__has_the_products_and_equations_of_its_coefficients(letters):
    f = table()
    asked = [pt.soft(one) if letter in letters else one for letter, one in zip("PUR", pt.pur(f, **ROLES), strict=True)]
    if letters == "PUR":
        asked.append(pt.Marginal(pt.marginal(f, ["y"])))
    question, matrix, _ = matrix_of(f, asked)
    assert isinstance(matrix, PartitionMatrix)
    plain = ExplicitMatrix(question.coefficients)
    rng = np.random.default_rng(0)
    x, y = rng.random(matrix.shape[1]), rng.normal(size=matrix.shape[0])
    np.testing.assert_allclose(matrix.times(x), plain.times(x), rtol=1e-13)
    np.testing.assert_allclose(matrix.back(y), plain.back(y), rtol=1e-12, atol=1e-14)
    assert (matrix.to_sparse() != question.coefficients).nnz == 0
    diagonal = np.where(question.hard, 0.0, rng.uniform(0.1, 2.0, question.rows))
    right = plain.times(x * plain.back(y)) + diagonal * y
    found = matrix.solver(x, diagonal)(right)
    np.testing.assert_allclose(
        plain.times(x * plain.back(found)) + diagonal * found, right, atol=1e-7 * np.abs(right).max()
    )


@pytest.mark.parametrize(
    "softness", [{"strength": 2.0}, {"penalty": "l1", "strength": 0.3}, {"penalty": "quadratic", "strength": 40.0}]
)
def test_project__onto_many_marginals_by_slabs_is_the_answer_by_sparse_factors(softness, monkeypatch):
    f = table()
    parity, *others = pt.pur(f, **ROLES)
    asked = [pt.soft(parity, **softness), *others]
    by_slabs = pt.project(f, asked, ratio_bounds=(0.5, 3.0))
    monkeypatch.setattr(partitions, "_FEWEST_ROWS", 10**9)
    by_factors = pt.project(f, asked, ratio_bounds=(0.5, 3.0))
    assert by_slabs.certified
    np.testing.assert_allclose(by_slabs.table.values, by_factors.table.values, atol=1e-13)
    assert pt.total_variation(by_slabs.table, f) > 1e-4


def test_partition_system__takes_marginals_alone():
    f = table(unprotected=5)
    parity, *others = pt.pur(f, **ROLES)
    question = build_question(
        f, [*others, pt.share(of={"y": 0}, within={"s": 1}, target=0.4)], GeneralOptions()
    ).question
    rows, cells = np.arange(question.rows), np.arange(len(question.reference))
    assert partition_system(question.blocks, question.offsets, rows, cells) is None
    question = build_question(f, [parity, *others], GeneralOptions()).question
    system = partition_system(question.blocks, question.offsets, np.arange(question.rows), cells)
    assert system.scopes == (("y", "s"), ("y", "x"), ("s", "x"))
    assert partition_matrix(system, np.ones(3, dtype=bool)) is None  # few rows are written out
