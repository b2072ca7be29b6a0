"""Answers on rows of every kind against answers in fifty digits: the distance is within the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, localcontext

import pytest

from purtensor.solving.dual.certificate import certify
from purtensor.solving.dual.columns.entropy import EntropyColumns
from purtensor.solving.dual.columns.squares import LinearCostColumns, SquareColumns
from purtensor.solving.dual.problem import DualProblem
from purtensor.solving.dual.solve import solve
from purtensor.solving.dual.watch import Watch
from tests.solving.dual.mixed import draw_mixed

_STEPS = 60


@dataclass
class Column:
    """One column in fifty digits: its row entries, and what it answers to z."""

    entries: list[tuple[int, Decimal]]
    lower: Decimal
    upper: Decimal
    kind: str
    centre: Decimal = Decimal(0)
    weight: Decimal = Decimal(1)

    def respond(self, z):
        """The response and its derivative; a slack of linear cost answers nothing where it is at its bound."""
        if self.kind == "entropy":
            x = self.centre * (z / self.weight).exp()
            give = x / self.weight
        else:
            x, give = self.centre + self.weight * z, self.weight
        return (x, give) if self.lower < x < self.upper else (min(max(x, self.lower), self.upper), Decimal(0))


def columns_of(problem: DualProblem) -> list[Column]:
    matrix = problem.matrix.to_sparse().tocsc()
    entries = [
        [(int(r), Decimal(float(v))) for r, v in zip(matrix.indices[a:b], matrix.data[a:b])]
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:])
    ]
    entries += [[(int(r), Decimal(float(s)))] for r, s in zip(problem.slack_rows, problem.slack_signs)]
    found: list[Column] = []
    for block in problem.columns.blocks:
        for k in range(len(block.lower)):
            low, high = Decimal(float(block.lower[k])), Decimal(float(block.upper[k]))
            own = entries[len(found)]
            if isinstance(block, EntropyColumns):
                column = Column(
                    own, low, high, "entropy", Decimal(float(block.centre[k])), Decimal(float(block.strength[k]))
                )
            elif isinstance(block, LinearCostColumns):
                column = Column(own, low, high, "linear", Decimal(float(block.cost[k])))
            else:
                assert isinstance(block, SquareColumns)
                column = Column(
                    own, low, high, "square", Decimal(float(block.centre[k])), Decimal(float(block.variance[k]))
                )
            found.append(column)
    return found


def eliminated(matrix, right):
    """The solution of positive definite equations, by Gauss."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        for below in rows[k + 1 :]:
            by = below[k] / rows[k][k]
            for j in range(k, len(rows) + 1):
                below[j] -= by * rows[k][j]
    found = [Decimal(0)] * len(rows)
    for k in reversed(range(len(rows))):
        found[k] = (rows[k][-1] - sum(rows[k][j] * found[j] for j in range(k + 1, len(rows)))) / rows[k][k]
    return found


def in_fifty_digits(problem: DualProblem, potentials, slacks):
    """The cells of the answer, by Newton's method from a float answer; None where its active slacks are others.

    Slacks of linear cost that lie inside of their intervals are unknowns, their potentials known: the cost.
    """
    columns, rows = columns_of(problem), problem.rows
    y = [Decimal(float(v)) for v in potentials]
    inside = []
    for j, column in enumerate(columns):
        if column.kind != "linear":
            continue
        (r, sign), x = column.entries[0], float(slacks[j])
        push = float(sign * y[r] - column.centre)
        if min(x - float(column.lower), float(column.upper) - x) > abs(push) * problem.mass:
            inside.append(j)
            y[r] = sign * column.centre
    fixed = {columns[j].entries[0][0] for j in inside}
    free = [r for r in range(rows) if r not in fixed]
    for _ in range(_STEPS):
        missing = [Decimal(float(b)) for b in problem.targets]
        normal = [[Decimal(0)] * rows for _ in range(rows)]
        cells = []
        for j, column in enumerate(columns):
            if column.kind == "linear":
                (r, sign) = column.entries[0]
                x = column.upper if sign * y[r] > column.centre else column.lower
                give = Decimal(0)
                if j in inside:
                    continue
            else:
                x, give = column.respond(sum(v * y[r] for r, v in column.entries))
            if j < problem.cells:
                cells.append(x)
            for r, v in column.entries:
                missing[r] -= v * x
                for s, w in column.entries:
                    normal[r][s] += give * v * w
        left = max((abs(missing[r]) for r in free), default=Decimal(0))
        if left < Decimal(10) ** -40 * Decimal(problem.mass):
            return cells if _consistent(problem, columns, inside, missing) else None
        size = max(normal[r][r] for r in free) * Decimal(10) ** -30  # dependent rows
        own = [[normal[r][s] + (size if r == s else 0) for s in free] for r in free]
        step = eliminated(own, [missing[r] for r in free])
        for a, r in enumerate(free):
            y[r] += step[a]
    return None


def _consistent(problem, columns, inside, missing):
    """Return whether the slacks inside take what their rows miss within their intervals."""
    rows = [columns[j].entries[0][0] for j in inside]
    if len(set(rows)) < len(rows):
        return False
    for j, r in zip(inside, rows):
        x = columns[j].entries[0][1] * missing[r]
        if not columns[j].lower <= x <= columns[j].upper:
            return False
    return True


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_certify__holds_against_fifty_digits(first):
    checked = 0
    with localcontext(prec=60):
        for seed in range(first, first + 10):
            problem = draw_mixed(seed).problem()
            run = solve(problem, Watch(2000))
            proof = certify(problem, run.point, advance=True)
            exact = in_fifty_digits(problem, proof.potentials, run.point.x)
            if exact is None:
                continue
            apart = sum(abs(Decimal(float(x)) - wanted) for x, wanted in zip(proof.cells, exact, strict=True))
            assert apart <= Decimal(proof.distance), seed
            checked += 1
    assert checked >= 8


@pytest.mark.parametrize("seed", [120, 176, 295, 1288])
def test_certify__potentials_of_millions_of_nats_keep_their_digits(seed):
    mixed = draw_mixed(seed)
    problem = mixed.problem()
    run = solve(problem, Watch(2000))
    proof = certify(problem, run.point, advance=True)
    assert proof.distance <= 2e-11 * mixed.mass  # in double precision alone 3e-10 to 1.3e-9
    with localcontext(prec=60):
        exact = in_fifty_digits(problem, proof.potentials, run.point.x)
        assert exact is not None
        apart = sum(abs(Decimal(float(x)) - wanted) for x, wanted in zip(proof.cells, exact, strict=True))
        assert apart <= Decimal(proof.distance)
