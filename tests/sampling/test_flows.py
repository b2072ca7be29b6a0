from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from purtensor.sampling.flows import two_chains

scopes = st.lists(st.frozensets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=6)


def nested(one, other):
    return one <= other or other <= one


@given(scopes=scopes, data=st.data())
def test_two_chains__cover_all_unless_three_scopes_are_apart(scopes, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(scopes), max_size=len(scopes)))
    chains = two_chains(scopes, weights)
    for chain in chains:
        for lower, upper in pairwise(chain):
            assert scopes[lower] <= scopes[upper]
    taken = [*chains[0], *chains[1]]
    assert len(set(taken)) == len(taken)
    # Dilworth: two chains cover a family exactly when no three of it are pairwise apart
    apart = any(not any(nested(a, b) for a, b in combinations(three, 2)) for three in combinations(scopes, 3))
    assert (len(taken) == len(scopes)) is not apart


def test_two_chains__leave_out_the_lightest():
    pur = [frozenset("ys"), frozenset("yx"), frozenset("sx")]
    assert sorted(k for chain in two_chains(pur, [10, 200, 300]) for k in chain) == [1, 2]
    assert sorted(k for chain in two_chains(pur, [400, 200, 300]) for k in chain) == [0, 2]
