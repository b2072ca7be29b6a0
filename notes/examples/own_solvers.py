"""
Four user-defined solvers
=========================

Greedy scaling (Greenkhorn), mirror descent, accelerated alternating minimisation, and a few sweeps followed by Newton
steps with a sparsified Hessian, each in at most thirty lines on top of `purtensor.solvers`, compared with the built-in
solvers. The loop, the stopping rule and the certificates are the same for all.
"""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import cg

import purtensor as pt
from purtensor import solvers


class Greenkhorn:
    """Scale the row that increases the dual most; one iteration scales as many times as there are rows."""

    def step(self, problem, iterate, budget):
        if iterate.memory is None:
            rows = (problem.index + problem.offsets[:-1, None]).ravel()
            profiles = np.tile(np.arange(problem.index.shape[1]), len(problem.index))
            shape = len(problem.targets), problem.index.shape[1]
            iterate.memory = sparse.csr_array((np.ones(len(rows)), (rows, profiles)), shape=shape)
        members = iterate.memory
        potentials, masses, targets = iterate.potentials.copy(), iterate.masses.copy(), problem.targets
        sums, touches = solvers.row_sums(problem, masses), 0
        for _ in range(len(targets)):
            best = np.argmax((targets - sums) ** 2 / sums)  # twice the gain, to second order
            own = members.indices[members.indptr[best] : members.indptr[best + 1]]
            change = masses[own] * (targets[best] / sums[best] - 1.0)
            potentials[best] += np.log(targets[best] / sums[best])
            masses[own] += change
            for k, begin in enumerate(problem.offsets[:-1]):
                np.add.at(sums, begin + problem.index[k, own], change)
            touches += len(own) * len(problem.index)
        point = solvers.Iterate(potentials, solvers.masses_at(problem, potentials), members)
        return solvers.Step(point, touches=touches)


class MirrorDescent:
    """Move along the logarithms of the ratios; double the length, then halve it until the dual increases."""

    def step(self, problem, iterate, budget):
        length = 2.0 * (iterate.memory or 0.5)
        direction = np.log(problem.targets / solvers.row_sums(problem, iterate.masses)) / len(problem.index)
        while solvers.gain(problem, iterate.masses, length * direction) < 0.0:
            length /= 2.0
        iterate.memory = length
        return iterate.potentials + length * direction


class AcceleratedAlternating:
    """Scales to the constraint that is missed most, from a point between the last one and one that gradients move.

    Guminov, Dvurechensky, Tupitsa and Gasnikov (2021), algorithm 1; the length of the gradient step is that which the
    gain of the scaling, known exactly, allows.
    """

    def step(self, problem, iterate, budget):
        eta, targets = iterate.potentials, problem.targets
        moved, weight = iterate.memory or (eta, 0.0)
        low, high = 0.0, 1.0
        for _ in range(12):  # the point of most gain on the way from the one to the other
            middle = (low + high) / 2.0
            sums = solvers.row_sums(problem, solvers.masses_at(problem, eta + middle * (moved - eta)))
            low, high = (middle, high) if (targets - sums) @ (moved - eta) > 0.0 else (low, middle)
        between = eta + low * (moved - eta)
        sums = solvers.row_sums(problem, solvers.masses_at(problem, between))
        miss = targets - sums
        blocks = [slice(*ends) for ends in zip(problem.offsets[:-1], problem.offsets[1:], strict=True)]
        worst = max(blocks, key=lambda block: miss[block] @ miss[block])
        scaled, ratio = between.copy(), np.log(targets[worst] / sums[worst])
        scaled[worst] += ratio
        share = 2.0 * max(0.0, targets[worst] @ ratio - miss[worst].sum()) / max(miss @ miss, 1e-300)
        length = (share + np.sqrt(share**2 + 4.0 * share * weight)) / 2.0
        memory = moved + length * miss, weight + length
        return solvers.Iterate(scaled, solvers.masses_at(problem, scaled), memory)


class SinkhornNewtonSparse:
    """Make some sweeps, then Newton steps with only the largest entries of the Hessian."""

    def __init__(self, sweeps=20, kept=0.5):
        self.sweeps, self.kept = sweeps, kept

    def step(self, problem, iterate, budget):
        made = iterate.memory or 0
        if made < self.sweeps:
            return pt.IPF().sweep(problem, iterate.with_memory(None)).with_memory(made + 1)
        hessian = solvers.hessian(problem, iterate.masses)
        ridge = 1e-12 * hessian.trace()
        hessian.data[hessian.data < np.quantile(hessian.data, 1.0 - self.kept) * 1e-3] = 0.0
        hessian = hessian + ridge * sparse.eye_array(hessian.shape[0])
        miss = problem.targets - solvers.row_sums(problem, iterate.masses)
        scale = sparse.diags_array(1.0 / hessian.diagonal())
        direction, _ = cg(hessian, miss, rtol=1e-6, maxiter=500, M=scale)
        length = 1.0
        while solvers.gain(problem, iterate.masses, length * direction) < 0.0 and length > 1e-6:
            length /= 2.0
        return iterate.potentials + length * direction


ours = [Greenkhorn(), MirrorDescent(), AcceleratedAlternating(), SinkhornNewtonSparse()]
compared = pt.compare(["haberman", "a", "b_lam0"], [*ours, "ipf", "newton"], repetitions=3, budget=10)
axes = compared.plot(title="Times as multiples of the first")

# %%
compared
