"""Whole numbers on disk that refute constraints or empty profiles, and whether they do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from purtensor._typing import FloatArray, IntArray, Table
from purtensor.feasibility.targets import ROUNDING
from purtensor.outofcore.array_file import read_packed
from purtensor.outofcore.check_certificate import Proven, spread_weights
from purtensor.outofcore.face_parts import labelled_codes
from purtensor.outofcore.part import Part, read_part
from purtensor.outofcore.slab_store import SlabStore
from purtensor.tables.coded import sparse_table
from purtensor.tables.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Whole numbers t, kept on disk part by part, that refute the constraints or empty profiles.

    They hold on the profiles that the steps before left.
    """

    domain: Domain
    folder: Path
    proven: Proven

    @property
    def store(self) -> SlabStore:
        """The problem that the step is about."""
        return self.proven.store

    def parts(self) -> Iterator[tuple[Part, list[IntArray], IntArray]]:
        """Yield every part, the codes of its profiles, and the weights of its rows."""
        for number in self.store.parts:
            codes, count, _ = labelled_codes(self.store, number)
            part = read_part(self.store.part(number), self.store.kept)
            yield part, [code[:count] for code in codes], read_packed(self.folder / f"{number:06d}").arrays["weights"]

    def chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the weights part by part: a table for each constraint, on the rows that have a profile there."""
        for part, codes, weights in self.parts():
            tables = []
            for k, scope in enumerate(self.store.scopes):
                rows, first = np.unique(part.index[k], return_index=True)
                columns = [codes[self.domain.position(name)][first] for name in scope]
                tables.append(
                    sparse_table(self.domain.select(scope), columns, weights[part.block(k)][rows], name="certificate")
                )
            yield tuple(tables)

    def left(self) -> Iterator[list[IntArray]]:
        """Yield the codes of the profiles that the weights do not empty, part by part."""
        for part, codes, weights in self.parts():
            stays = spread_weights(part, weights) == 0
            yield [code[stays] for code in codes]

    def holds(self) -> bool:
        """Return whether the weights prove what is said of them, recomputed in whole numbers and fractions."""
        value, absolute = Fraction(0), Fraction(0)
        positive = largest = 0
        for part, _, weights in self.parts():
            costs = spread_weights(part, weights)
            # C^T t >= 0 everywhere, with the same numbers on the rows that all parts share
            if costs.min() < 0 or not np.array_equal(weights[part.outer_rows()], self.proven.outer):
                return False
            positive += int(np.count_nonzero(costs > 0))
            # rows that couple the parts are in every part, and count once, after the loop
            inner = np.ones(len(weights), dtype=bool)
            inner[part.outer_rows()] = False
            terms = _terms(part.targets[inner], weights[inner])
            value, absolute = value + sum(terms), absolute + sum(map(abs, terms))
            largest = max(largest, int(np.abs(weights).max()))
        terms = _terms(self.store.outer_targets, self.proven.outer)
        value, absolute = value + sum(terms), absolute + sum(map(abs, terms))
        total = Fraction(self.store.total)
        # as `Proven.allowed`, but in fractions, without its allowance for sums of floats
        allowed = ROUNDING * (absolute if positive else max(absolute, largest * total))
        # b.t < 0 refutes; b.t = 0 to rounding empties the profiles of positive C^T t
        return value < -allowed or (positive > 0 and abs(value) <= 2 * allowed)


def _terms(targets: FloatArray, weights: IntArray) -> list[Fraction]:
    used = np.flatnonzero(weights)
    pairs = zip(targets[used].tolist(), weights[used].tolist(), strict=True)
    return [Fraction(target) * weight for target, weight in pairs]
