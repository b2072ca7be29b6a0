"""mbi (private-pgm): mirror descent on the marginals of a graphical model, begun at the reference's logarithms."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.comparison.peers.peer import Attempt, Peer, driven
from purtensor.comparison.plain import PlainProblem
from purtensor.comparison.rule import Rule

# iterations of one call of its compiled loop
_AT_ONCE = 50


class Mbi(Peer):
    """`mbi.estimation.MirrorDescent` on the squared misses of the targets.

    Steps move the potentials of the targets' cliques only, so what it converges to is in the family of the reference,
    which is given as the potential of the clique of all attributes.
    """

    modules = ("jax", "mbi")

    def prepare(self, problem: PlainProblem, rule: Rule) -> Callable[[], Attempt]:
        """Return a call that solves the problem; its loops are compiled before."""
        start = problem.dense(problem.masses)
        jax = import_module("jax")
        jax.config.update("jax_enable_x64", True)
        mbi = import_module("mbi")
        names = tuple(f"a{axis}" for axis in range(len(problem.sizes)))
        domain = mbi.Domain(names, problem.sizes)
        with np.errstate(divide="ignore"):
            potential = mbi.Factor(domain, jax.numpy.asarray(np.log(start)))
        begin = mbi.CliqueVector(domain, (names,), {names: potential})
        targets = [problem.dense_target(k) for k in range(len(problem.axes))]
        measured = [mbi.LinearMeasurement(target.ravel(), tuple(names[a] for a in axes)) for axes, target in targets]
        misses = mbi.marginal_loss.from_linear_measurements(measured, domain)
        cliques = tuple(dict.fromkeys([*misses.cliques, names]))  # no miss is on the last: it carries the reference
        loss = mbi.MarginalLossFn(cliques, misses.loss_fn, misses.data, misses.lipschitz)
        estimator = mbi.estimation.MirrorDescent()

        def more(model: Any, iterations: int) -> Any:
            return estimator.estimate(domain, loss, known_total=1.0, iters=iterations, warm_start=model)

        def solve() -> Attempt:
            model = begin

            def advance(_: FloatArray, iterations: int) -> FloatArray:
                nonlocal model
                model = more(model, iterations)
                return np.asarray(model.project(names).datavector(flatten=False))

            return driven(problem, rule, start, advance, unit=_AT_ONCE)

        more(more(begin, 1), 1)  # its first call compiles one form, its later ones another
        return solve
