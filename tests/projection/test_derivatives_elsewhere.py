"""The wrappers of notes/derivatives.md for other packages, as they stand there, against differences."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import purtensor as pt

NOTE = Path(__file__).parents[2] / "notes" / "derivatives.md"


def wrapper(package):
    """The function that the note defines for a package."""
    if not NOTE.exists():
        pytest.skip("the notes are not beside the tests")
    blocks = re.findall(r"^```python\n(.+?)^```", NOTE.read_text(), re.M | re.S)
    names: dict[str, object] = {}
    exec(next(block for block in blocks if f"import {package}\n" in block), names)
    return names[f"{package}_projection"]


def posed():
    """A table, its constraints, and a number of the projection that is to be differentiated."""
    problem = pt.problems.generate("pur", seed=3, responses=2, protected=2, unprotected=4, strength=0.1)
    weights = np.random.default_rng(1).standard_normal(problem.reference.shape)
    return problem.reference, problem.constraints, weights


def by_differences(change, step=1e-5):
    """The derivative of the number along a change of log q0, by central differences."""
    table, constraints, weights = posed()
    ends = [
        pt.project(table * np.exp(sign * step * change), constraints, tolerance=1e-14, certificate=False)
        for sign in (1, -1)
    ]
    return float((weights * (ends[0].table.values - ends[1].table.values)).sum() / (2 * step))


def test_torch__differentiates_through_the_note_s_function():
    torch = pytest.importorskip("torch")
    table, constraints, weights = posed()
    log_reference = torch.tensor(np.log(table.values), requires_grad=True)
    targets = [torch.tensor(one.target.values, requires_grad=True) for one in constraints]
    q = wrapper("torch")(table, constraints)(log_reference, *targets)
    (torch.from_numpy(weights) * q).sum().backward()
    change = np.random.default_rng(2).standard_normal(table.shape)
    assert float((log_reference.grad.numpy() * change).sum()) == pytest.approx(by_differences(change), rel=1e-6)
    assert all(target.grad.shape == target.shape for target in targets)


def test_jax__differentiates_through_the_note_s_function():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    table, constraints, weights = posed()
    projection = wrapper("jax")(table, constraints)
    targets = tuple(one.target.values for one in constraints)
    gradient = jax.grad(lambda log_reference: (weights * projection(log_reference, targets)).sum())
    change = np.random.default_rng(2).standard_normal(table.shape)
    along = float((np.asarray(gradient(np.log(table.values))) * change).sum())
    assert along == pytest.approx(by_differences(change), rel=1e-6)
