"""The maximum flow against an augmenting-path search in plain Python, and against the linear program."""

from __future__ import annotations

from collections import deque
from fractions import Fraction
from random import Random

import numpy as np
import pytest

import purtensor as pt
from purtensor.feasibility.diagnose import diagnose_table
from purtensor.feasibility.farkas import spread_whole
from purtensor.feasibility.flows import minimum_cut, triangle_of
from purtensor.feasibility.violation import smallest_miss, smallest_violation
from tests.strategies import table_from

NAMES = ("y", "s", "x")


def sample(seed, responses=2):
    random = Random(seed)
    sizes = (responses, random.randint(2, 5), random.randint(2, 6))
    observed = [(s, x) for s in range(sizes[1]) for x in range(sizes[2]) if random.random() < 0.6] or [(0, 0)]
    counts = {(y, s, x): random.randint(0, 9) ** 2 for y in range(responses) for s, x in observed}
    counts[0, *observed[0]] += 1
    counts[1, *observed[0]] += 1
    table = table_from(NAMES, tuple(tuple(range(size)) for size in sizes), {p: n for p, n in counts.items() if n})
    return pt.regularize(table, random.choice((1e-4, 1, 3)), response="y")


def found(f):
    return diagnose_table(f, pt.pur(f, response="y", protected="s")).evidence


def sent(supply, room, demand):
    """The maximum flow from x to s by breadth-first augmenting paths, in fractions."""
    left = {("source", x): value for x, value in supply.items()}
    left |= {(x, s): value for (x, s), value in room.items()}
    left |= {(s, "sink"): value for s, value in demand.items()}
    for tail, head in list(left):
        left.setdefault((head, tail), Fraction(0))
    total = Fraction(0)
    while True:
        before = {"source": None}
        queue = deque(["source"])
        while queue and "sink" not in before:
            node = queue.popleft()
            for (tail, head), value in left.items():
                if tail == node and value > 0 and head not in before:
                    before[head] = node
                    queue.append(head)
        if "sink" not in before:
            return total
        path, node = [], "sink"
        while before[node] is not None:
            path.append((before[node], node))
            node = before[node]
        least = min(left[arc] for arc in path)
        total += least
        for tail, head in path:
            left[tail, head] -= least
            left[head, tail] += least


@pytest.mark.parametrize("seed", range(20))
def test_minimum_cut__is_short_of_what_augmenting_paths_cannot_send(seed):
    finding = found(sample(seed))
    cut = minimum_cut(finding.system, finding.decision.targets, triangle_of(finding.system))
    deficit = -finding.decision.targets.dot(cut)
    parity, utility, realism = (finding.exact_targets(k) for k in range(3))
    y = min({own for own, _ in utility}, key=lambda own: sum(n for (y, _), n in utility.items() if y == own))
    supply = {("x", x): Fraction(n) for (own, x), n in utility.items() if own == y}
    room = {(("x", x), ("s", s)): Fraction(n) for (s, x), n in realism.items()}
    demand = {("s", s): Fraction(n) for (own, s), n in parity.items() if own == y}
    short = (sum(supply.values()) - sent(supply, room, demand)) / finding.decision.targets.denominator
    assert deficit == short
    assert spread_whole(finding.system.index, finding.system.offsets, cut).min() >= 0
    assert finding.decision.targets.dot(cut) == -short


@pytest.mark.parametrize("seed", range(20))
def test_violation__is_four_times_the_deficit_by_the_linear_program_too(seed):
    finding = found(sample(seed))
    cut = minimum_cut(finding.system, finding.decision.targets, triangle_of(finding.system))
    deficit = -finding.decision.targets.dot(cut)
    least = smallest_violation(finding.system, finding.decision.targets, [0, 0])  # named twice: not by the flow
    assert least.value == pytest.approx(float(4 * deficit), abs=1e-9)
    assert float(least.proved) == pytest.approx(float(4 * deficit), abs=1e-9)
    assert least.proved <= 4 * deficit
    of_flow = smallest_violation(finding.system, finding.decision.targets, [0])
    assert of_flow.proved == 4 * deficit
    assert (
        spread_whole(finding.system.index, finding.system.offsets, of_flow.weights).tolist()
        == (4 * spread_whole(finding.system.index, finding.system.offsets, cut)).tolist()
    )
    assert set(of_flow.weights[finding.system.block(0)]) <= {-1, 1}


@pytest.mark.parametrize("seed", range(6))
def test_violation__holding_others_costs_no_less_than_missing_any(seed):
    finding = found(sample(seed, responses=3))
    violation = smallest_violation(finding.system, finding.decision.targets, [0])
    miss = smallest_miss(finding.system, finding.decision.targets)
    assert miss.value <= violation.value + 1e-10
    for least in (violation, miss):
        assert spread_whole(finding.system.index, finding.system.offsets, least.weights).min() >= 0
        assert -finding.decision.targets.dot(least.weights) / least.unit == least.proved
        assert float(least.proved) == pytest.approx(least.value, abs=1e-9)


def test_violation__of_the_proxy_is_two_fifths():
    problem = pt.problems.load("proxy")
    finding = diagnose_table(problem.reference, problem.constraints).evidence
    assert smallest_violation(finding.system, finding.decision.targets, [0]).proved == Fraction(2, 5)


def test_violation__of_b_inf_is_proved_to_all_published_digits():
    problem = pt.problems.load("b_inf")
    finding = diagnose_table(problem.reference, problem.constraints).evidence
    least = smallest_violation(finding.system, finding.decision.targets, [0])
    assert float(least.proved) == pytest.approx(0.1957743258, abs=5e-11)
    assert set(np.unique(least.weights[finding.system.block(0)])) <= {-1, 0, 1}
    assert least.unit == 1


@pytest.mark.parametrize("order", ["PUR", "RUP", "URP"])
def test_triangle__finds_parity_wherever_it_stands(order):
    f = sample(3)
    system = diagnose_table(f, pt.pur(f, response="y", protected="s", conditions=order)).evidence.system
    triangle = triangle_of(system)
    assert system.scopes[triangle.parity] == ("y", "s")
    assert system.scopes[triangle.utility] == ("y", "x")
    assert triangle.response == ("y",)


def system_of(f, constraints):
    return diagnose_table(f, constraints).evidence.system


def test_triangle__other_constraint_sets_are_none():
    f = sample(3)
    assert triangle_of(system_of(f, pt.pur(f, response="y", protected="s", conditions="PU"))) is None
    assert triangle_of(system_of(f, pt.marginals_of(f, [("y",), ("s",), ("x",)]))) is None
    assert (
        triangle_of(diagnose_table(f, pt.marginals_of(f, [("y", "s"), ("y", "x"), ("y", "s", "x")])).evidence.system)
        is None
    )


@pytest.mark.parametrize("seed", range(20))
def test_verdict__of_binary_response_and_protected_is_frechets(seed):
    # on all of y by s by x, parity can be met with mass everywhere iff f(y) f(s) lies strictly between the bounds
    random = Random(seed)
    count = random.randint(1, 3)
    kind = [random.randint(0, 1) for _ in range(count)]  # each x has mostly one s and, at times, one y: a proxy
    counts = {
        (y, s, x): 1 + random.choice((4, 9)) * (s == y == kind[x])
        for y in range(2)
        for s in range(2)
        for x in range(count)
    }
    total = sum(counts.values())

    def mass(**at):
        return sum(n for profile, n in counts.items() if all(profile[NAMES.index(k)] == v for k, v in at.items()))

    wanted = Fraction(mass(y=1) * mass(s=1), total)
    least = sum(max(0, mass(y=1, x=x) + mass(s=1, x=x) - mass(x=x)) for x in range(count))
    most = sum(min(mass(y=1, x=x), mass(s=1, x=x)) for x in range(count))
    f = table_from(NAMES, ((0, 1), (0, 1), tuple(range(count))), counts)
    diagnosis = pt.diagnose(f, pt.pur(f, response="y", protected="s"))
    if least < wanted < most:
        assert diagnosis.verdict == "interior"
    else:
        assert diagnosis.verdict == ("boundary" if wanted in (least, most) else "infeasible")
    short = max(Fraction(0), least - wanted, wanted - most) / total
    assert diagnosis.smallest_violation(0).proved == 4 * short
