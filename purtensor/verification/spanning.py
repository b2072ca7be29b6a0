"""A basis of profiles on which any miss can be corrected for any masses; found and checked by separate code.

Two constraints are a bipartite graph; of its spanning forests the heaviest is taken. The rows of the other constraints
are met by profiles that close a cycle each. Which of those rows follow from the rest is proved in whole numbers on all
profiles, and the matrix of the cycles is inverted with a bound on its error (notes/verification.md, equation 6).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from purtensor._typing import BoolArray, FloatArray, IntArray
from purtensor.verification.spanning_tree import Tree, pair_of, tree_of

# the inverse is dense, and its time grows with the cube of the rows
_MOST_ROWS = 1500
_MOST_LONG = 400
_MOST_ONE_BY_ONE = 64
_RANDOM_SUMS = 4
_CUTS = (1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14)
"""Ever lower: what was taken for rounding, and left out, was found to be none."""

# a larger error would make equation 6 loose: the inverse is refined once in extended precision
_GOOD = 1e-3
# relations between rows of marginals are expected to be ratios of small whole numbers
_DENOMINATORS = (1, 2, 3, 4, 5, 6, 8, 12, 60)

UPWARD = 1.0 + 1e-8
"""Makes up for the rounding of sums of up to 2^26 numbers, none of them negative."""


@dataclass(frozen=True, slots=True, eq=False)
class Spanning:
    """Profiles on which any misses can be met: those of a forest, and some that close a cycle each.

    Attributes
    ----------
    index
        Shape (K, M): the row of every profile in each constraint, numbered through.
    pair
        The two constraints of the forest.
    rows, profiles
        The rows of the others that do not follow from the rest, and the profiles that meet them.
    inverse, sizes
        The inverse of what the cycles sum to in these rows, and no less than the sizes of the exact one.
    """

    index: IntArray
    pair: tuple[int, ...]
    tree: Tree
    rows: IntArray
    profiles: IntArray
    inverse: FloatArray
    sizes: FloatArray

    @property
    def kept(self) -> IntArray:
        """A maximal independent set of rows, on which any misses are met."""
        return np.sort(np.append(np.flatnonzero(self.tree.via >= 0), self.rows))

    @property
    def used(self) -> IntArray:
        """The profiles that take what is missed."""
        return np.append(self.tree.via[self.tree.via >= 0], self.profiles)

    def change(self, missed: FloatArray) -> FloatArray:
        """Return a change of the masses that meets the misses to rounding."""
        return self._carry(missed, self.inverse, -1.0)

    def reach(self, missed: FloatArray) -> FloatArray:
        """Return what no mass of the exact change passes, where no miss passes these sizes."""
        return np.asarray(self._carry(missed, self.sizes, 1.0) * UPWARD)

    def _carry(self, missed: FloatArray, inverse: FloatArray, sign: float) -> FloatArray:
        found, missed = np.zeros(self.index.shape[1]), np.append(missed, 0.0)  # for the node above all trees
        # first along the forest alone, to see what that flow leaves in the rows of the other constraints
        self.tree.route(missed.copy(), found, sign)
        if not len(self.rows):
            return found
        sums = np.zeros(len(missed))
        for k in set(range(len(self.index))) - set(self.pair):
            # bincount sums in float64: the miss that this rounding leaves is measured and routed again
            sums += np.bincount(self.index[k], found, minlength=len(missed))
        # then the closing profiles take what is left, and the flow makes up for their own rows of the forest
        values = inverse @ (missed[self.rows] + sign * sums[self.rows]) * (UPWARD if sign > 0 else 1.0)
        nodes = missed.copy()
        for k in self.pair:
            np.add.at(nodes, self.index[k][self.profiles], sign * values)
        found[:] = 0.0
        self.tree.route(nodes, found, sign)
        found[self.profiles] += values
        return found


def spanning_profiles(
    index: IntArray, count: int, masses: FloatArray, named: BoolArray | None = None
) -> Spanning | None:
    """Return heavy profiles on which any misses of `count` rows can be met; None where no proof of them is found.

    The rows that are met are those that are named, where these are proved to be a maximal independent set.

    Parameters
    ----------
    index
        Shape (K, M): the row of every profile in each constraint, numbered through.
    masses
        Shape (M,), positive.
    """
    order = np.argsort(-masses, kind="stable")
    pair = pair_of(index, count, named)
    tree = tree_of([index[k] for k in pair], count, order, named)
    others = [k for k in range(len(index)) if k not in pair]
    if not others:
        none = np.empty(0, dtype=np.int64)
        return Spanning(index, pair, tree, none, none, np.empty((0, 0)), np.empty((0, 0)))
    border = np.unique(index[others])
    if len(border) > _MOST_ROWS:
        return None
    # heavy first: a correction of a heavy profile leaves it positive
    closing = order[~np.isin(order, tree.via[tree.via >= 0])]
    found = _close(cycles := Cycles(index, pair, others, tree, border, count), closing)
    return found if found is None or named is None else _on_named(cycles, found, named)


def _on_named(cycles: Cycles, found: Spanning, named: BoolArray) -> Spanning:
    """Return the same profiles with the rows that are named beside the forest, if the cycles prove these independent.

    As many independent rows as a maximal independent set has are one, so no relations need be proved again.
    """
    rows = cycles.border[named[cycles.border]]
    if len(rows) != len(found.rows) or np.array_equal(rows, found.rows):
        return found
    vectors = cycles.of(found.profiles)[:, named[cycles.border]]
    inverted = _invert(vectors.T)
    return found if inverted is None else replace(found, rows=rows, inverse=inverted[0], sizes=inverted[1])


@dataclass(frozen=True, slots=True, eq=False)
class Cycles:
    """What the cycles that profiles close in a forest sum to in the rows `border` of the other constraints."""

    index: IntArray
    pair: tuple[int, ...]
    others: list[int]
    tree: Tree
    border: IntArray
    count: int

    def of(self, profiles: IntArray) -> FloatArray:
        """Return the sums along each cycle, shape (profiles, border): small whole numbers."""
        place = np.zeros(self.count, dtype=np.int64)
        place[self.border] = np.arange(len(self.border))
        found = np.zeros((len(profiles), len(self.border)))
        cycle = np.arange(len(profiles))
        for k in self.others:
            found[cycle, place[self.index[k][profiles]]] += 1.0
        tree = self.tree
        ends = [self.index[k][profiles].copy() for k in self.pair]
        # of one constraint alone the other end is the node above all trees
        ends += [np.full(len(profiles), self.count)] * (2 - len(ends))
        # signs alternate along the cycle, so that the rows of the forest's two constraints cancel
        signs = [np.full(len(profiles), -1.0) for _ in ends]
        while True:
            apart = ends[0] != ends[1]
            if not apart.any():
                return found
            # the deeper end climbs until both meet in their common ancestor
            deeper = tree.depth[ends[0]] >= tree.depth[ends[1]]
            for n, moves in enumerate((apart & deeper, apart & ~deeper)):
                edges = tree.via[ends[n][moves]]
                for k in self.others:
                    np.add.at(found, (cycle[moves], place[self.index[k][edges]]), signs[n][moves])
                ends[n][moves] = tree.parent[ends[n][moves]]
                signs[n][moves] *= -1.0

    def broken(self, weights: FloatArray) -> BoolArray:
        """Mark the profiles along whose cycle the weighted rows do not sum to 0; in whole numbers, exactly."""
        place = np.zeros(self.count + 1)
        place[self.border] = weights
        weighed = np.sum([place[self.index[k]] for k in self.others], axis=0)
        # potentials of the nodes that explain the weights on the forest; a cycle's sum is what they leave elsewhere
        potentials = np.zeros(self.count + 1)
        for nodes in self.tree.levels:
            potentials[nodes] = weighed[self.tree.via[nodes]] - potentials[self.tree.parent[nodes]]
        for k in self.pair:
            weighed = weighed - potentials[self.index[k]]
        # float64 adds whole numbers up to 2^53 exactly
        most = 2.0**50 / len(self.index)
        if np.abs(potentials).max(initial=0.0) >= most or np.abs(weights).max(initial=0.0) >= most:
            return np.ones(len(weighed), dtype=bool)  # beyond exact whole numbers
        return np.asarray(weighed != 0.0)


def _close(cycles: Cycles, closing: IntArray) -> Spanning | None:
    """Return the profiles that close cycles enough, heavy ones first, with the proof that no further row is free."""
    # far more cycles than the rank can be, so that the first round mostly suffices
    size = 4 * len(cycles.border) + 64
    tried = closing[:size]
    for cut in _CUTS:
        vectors = cycles.of(tried)
        rows, chosen = _independent(vectors, cut)
        inverted = _invert(vectors[np.ix_(chosen, rows)].T)
        if inverted is None:
            return None
        missed = _first_broken(cycles, vectors[chosen], rows, inverted[0])
        if missed is None:
            continue
        if not len(missed):
            return Spanning(cycles.index, cycles.pair, cycles.tree, cycles.border[rows], tried[chosen], *inverted)
        more = closing[np.isin(closing, missed)]
        some = np.random.default_rng(len(chosen)).permutation(len(more))[:size]  # neighbours are much alike
        tried = np.concatenate(
            [tried[chosen], more[np.unique(np.concatenate([np.arange(min(size, len(more))), some]))]]
        )
    return None


def _independent(vectors: FloatArray, cut: float) -> tuple[IntArray, IntArray]:
    """Return rows and as many cycles, the first that pivoting finds independent; the rank is a guess, to be proved."""
    if not len(vectors):
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    r, pivots = scipy.linalg.qr(vectors, mode="r", pivoting=True)
    diagonal = np.abs(np.diag(r))
    rows = np.sort(pivots[: int(np.sum(diagonal > cut * max(1.0, diagonal[0])))])
    # of the cycles the heaviest are to be taken: each but for a fraction of the one before
    # no more than a factor of 2^20 in all, or rounding would decide on the rank
    weights = 2.0 ** -(np.arange(len(vectors)) * min(1.0, 20.0 / len(vectors)))
    # partial pivoting takes the largest entry of a column, hence about the heaviest profile that will do
    lu = scipy.linalg.lapack.dgetrf(vectors[:, rows] * weights[:, None])[1]
    order = np.arange(len(vectors))
    for place, other in enumerate(lu[: len(rows)]):
        order[[place, other]] = order[[other, place]]
    return rows, order[: len(rows)]


def _invert(matrix: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the inverse, and no less than the sizes of the exact one; None where no proof shows that there is one."""
    if not len(matrix):
        return np.empty((0, 0)), np.empty((0, 0))
    try:
        inverse: FloatArray = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None
    errors = _errors(inverse, matrix)
    if not errors.max() < _GOOD and len(matrix) <= _MOST_LONG:
        long, kind = matrix.astype(np.longdouble), np.longdouble
        # one step of Newton's iteration for the inverse (Schulz, 1933): X + (I - X A) X
        inverse = np.asarray(inverse + (np.eye(len(matrix)) - inverse.astype(kind) @ long) @ inverse, dtype=np.float64)
        errors = _errors(inverse, matrix, kind)
    # equation 6 needs ||I - X A|| < 1/2 for a proof that A has an inverse
    if not errors.max() < 0.5:
        return None
    sizes = np.abs(inverse)
    return inverse, np.asarray((sizes + np.outer(errors / (1.0 - errors.max()), sizes.max(axis=0))) * UPWARD)


def _errors(inverse: FloatArray, matrix: FloatArray, kind: type[Any] = np.float64) -> FloatArray:
    """Return the sum over each row of |1 - inverse matrix|, and of what rounding can make of it at most."""
    # of a dot product of that length, by the sum of its terms' sizes
    rounding = float(np.finfo(kind).eps) * (len(matrix) + 4) * (np.abs(inverse) @ np.abs(matrix))
    off: Any = np.eye(len(matrix), dtype=kind) - inverse.astype(kind) @ matrix.astype(kind)
    return np.asarray((np.abs(off).astype(np.float64) + rounding).sum(axis=1) * UPWARD)


def _first_broken(cycles: Cycles, chosen: FloatArray, rows: IntArray, inverse: FloatArray) -> IntArray | None:
    """Return profiles whose cycles show rows to be free that were left out; empty where none is, which is exact.

    None where the relations of the rows that are left out are not whole numbers: a row may be free of them by little.
    """
    left = np.setdiff1d(np.arange(len(cycles.border)), rows)
    if not len(left):
        return left
    relations = inverse.T @ chosen[:, left]  # row left = sum of relations times rows, on the chosen cycles
    weights = np.zeros((len(left), len(cycles.border)))
    for n, row in enumerate(left):
        # the smallest denominator that makes all of them whole, to be proved below
        scaled = (d * relations[:, n] for d in _DENOMINATORS)
        scale, whole = next(
            ((d, np.rint(one)) for d, one in zip(_DENOMINATORS, scaled, strict=True) if _is_whole(one)), (0, None)
        )
        if whole is None:
            return None
        weights[n, rows], weights[n, row] = -whole, scale
    if len(left) > _MOST_ONE_BY_ONE:  # a wrong relation passes each random sum with a probability of 1 in 4096
        weights = np.random.default_rng(1).integers(1, 1 << 12, (_RANDOM_SUMS, len(left))).astype(float) @ weights
    for one in weights:
        missed = np.flatnonzero(cycles.broken(one))
        if len(missed):
            return missed
    return left[:0]


def _is_whole(values: FloatArray) -> bool:
    return bool(np.abs(values - np.rint(values)).max(initial=0.0) < 1e-6)
