"""What the laws are tried on: random domains, supports, references, constraint sets and targets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from hypothesis import settings
from hypothesis import strategies as st

import purtensor as pt
from tests import oracles

COSTLY = settings(max_examples=max(8, settings.default.max_examples // 3))
"""For laws whose every example solves several problems: a third of the profile's examples."""

NAMES = ("income", "sex", "race", "age", "hours", "sector")
LABELS = (
    ("low", "mid", "high", "top"),
    ("ä", "b c", "", "NA"),
    (3, 1, -2, 40),
    (0.5, -1.0, 2.25, 7.0),
    (True, False),
)
KINDS = ("sparse", "full", "disconnected", "sparse", "full", "disconnected", "sparse", "full", "single")
MOST_PROFILES = 48


@dataclass(frozen=True)
class Case:
    """A projection problem whose targets are the marginals of a table, `feasible`.

    That table is strictly positive on the support of the reference unless the case was asked for with other targets:
    "boundary" leaves some of the support empty, "any" takes a table of another support.
    """

    attributes: tuple[str, ...]
    categories: tuple[tuple[Any, ...], ...]
    reference_masses: dict[tuple[Any, ...], Fraction]
    feasible_masses: dict[tuple[Any, ...], Fraction]
    scopes: tuple[tuple[str, ...], ...]
    layout: str

    @property
    def reference(self) -> xr.DataArray:
        return self.table(self.reference_masses)

    @property
    def feasible(self) -> xr.DataArray:
        return self.table(self.feasible_masses)

    @property
    def targets(self) -> tuple[dict[tuple[Any, ...], Fraction], ...]:
        return tuple(oracles.marginal(self.feasible_masses, self.attributes, scope) for scope in self.scopes)

    @property
    def constraints(self) -> tuple[Any, ...]:
        return tuple(
            pt.Marginal(self.table(target, scope)) for scope, target in zip(self.scopes, self.targets, strict=True)
        )

    def table(self, masses: dict[tuple[Any, ...], Any], scope: tuple[str, ...] | None = None) -> xr.DataArray:
        """A table over the scope (all attributes if None) in this case's layout."""
        names = scope or self.attributes
        categories = tuple(self.categories[self.attributes.index(name)] for name in names)
        return table_from(names, categories, masses, self.layout)


def table_from(attributes, categories, masses, layout="sparse"):
    """A purtensor table from a dict of masses, built by xarray alone."""
    if layout == "dense":
        values = np.zeros([len(labels) for labels in categories])
        for profile, mass in masses.items():
            values[tuple(labels.index(own) for labels, own in zip(categories, profile, strict=True))] = float(mass)
        return xr.DataArray(values, coords=dict(zip(attributes, map(list, categories))), dims=attributes)
    codes = [[labels.index(profile[i]) for profile in masses] for i, labels in enumerate(categories)]
    index = pd.MultiIndex(levels=[pd.Index(labels) for labels in categories], codes=codes, names=attributes)
    coords = xr.Coordinates.from_pandas_multiindex(index, "profile")
    return xr.DataArray([float(mass) for mass in masses.values()], coords=coords, dims="profile")


def random_domain(random, count):
    """Attributes and their categories, one to four of each, of one kind of label an attribute."""
    attributes = tuple(random.sample(NAMES, count))
    largest = 4 if count <= 3 else 3 if count <= 4 else 2
    categories = []
    for _ in attributes:
        labels = random.choice(LABELS)
        size = random.choice((*range(1, largest + 1), largest, largest))
        categories.append(tuple(random.sample(labels, min(size, len(labels)))))
    return attributes, tuple(categories)


def random_support(random, categories, kind):
    """Profiles that carry mass: all, some, those of two blocks without a common category, or one; in any order."""
    # sometimes the last categories of an attribute stay unused
    used = [labels[: random.randint(1, len(labels))] if random.random() < 0.2 else labels for labels in categories]
    everything = oracles.all_profiles(used)
    random.shuffle(everything)
    if kind == "single":
        return everything[:1]
    if kind == "disconnected":
        halves = [set(labels[: (len(labels) + 1) // 2]) for labels in used]
        sides = [[own in half for own, half in zip(profile, halves)] for profile in everything]
        everything = [profile for profile, side in zip(everything, sides) if all(side) or not any(side)]
    if kind == "sparse":
        everything = everything[: random.randint((len(everything) + 3) // 4, len(everything))]
    return everything[:MOST_PROFILES]


def random_masses(random, profiles, spread=0):
    """Positive masses of these profiles, as fractions that float64 holds; their size varies over 10^spread."""
    return {profile: Fraction(float(f"{random.randint(1, 999)}e{-random.randint(0, spread)}")) for profile in profiles}


def random_scopes(random, attributes):
    """A constraint set: a chain (decomposable), a cycle (not), or any scopes, among them repeated and nested ones."""
    names = random.sample(attributes, len(attributes))
    kind = random.choice(("any", "chain", "cycle", "repeated", "nested"))
    if kind in ("chain", "cycle") and len(names) > 2:
        around = [(names[i - 1], names[i]) for i in range(len(names))]
        return tuple(around if kind == "cycle" else around[1:])
    some = [tuple(random.sample(names, random.randint(1, min(3, len(names))))) for _ in range(random.randint(1, 4))]
    if kind == "repeated":
        some.append(tuple(reversed(random.choice(some))))
    if kind == "nested":
        some.append(random.choice(some)[:1])
    return tuple(some)


def random_case(random, *, count, kind="sparse", layout="sparse", spread=0, targets="interior"):
    """A problem whose targets are the marginals of a table: with all of the support, a part of it, or another one."""
    attributes, categories = random_domain(random, count)
    profiles = random_support(random, categories, kind)
    filled = profiles
    if targets == "boundary":
        filled = random.sample(profiles, random.randint(1, len(profiles)))
    if targets == "any":
        filled = random_support(random, categories, "sparse")
    return Case(
        attributes=attributes,
        categories=categories,
        reference_masses=random_masses(random, profiles, spread),
        feasible_masses=random_masses(random, filled),
        scopes=random_scopes(random, attributes),
        layout=layout,
    )


def cases(*, least=1, most=6, spread=0, kinds=KINDS):
    """Problems over `least` to `most` attributes whose reference varies over 10^spread.

    Their inside comes from one drawn seed rather than from many drawn numbers: then each example is another one, and
    failures still shrink to few attributes and the simplest kind.
    """
    return st.builds(
        lambda count, kind, layout, seed: random_case(
            Random(seed), count=count, kind=kind, layout=layout, spread=spread
        ),
        st.integers(least, most),
        st.sampled_from(kinds),
        st.sampled_from(("sparse", "dense")),
        st.integers(0, 2**64 - 1),
    )


def problems(*, least=1, most=6, spreads=(0, 3, 300)):
    """Problems of every verdict, whose reference varies over up to 10^300."""
    return st.builds(
        lambda count, kind, layout, targets, spread, seed: random_case(
            Random(seed), count=count, kind=kind, layout=layout, spread=spread, targets=targets
        ),
        st.integers(least, most),
        st.sampled_from(KINDS),
        st.sampled_from(("sparse", "dense")),
        st.sampled_from(("interior", "boundary", "any")),
        st.sampled_from(spreads),
        st.integers(0, 2**64 - 1),
    )


@st.composite
def pairs_of_tables(draw, *, spread=0):
    """A case, and the masses of two tables over its domain whose supports may differ."""
    case = draw(cases(spread=spread))
    random = Random(draw(st.integers(0, 2**64 - 1)))
    other = random_support(random, case.categories, draw(st.sampled_from(KINDS)))
    return case, case.reference_masses, random_masses(random, other, spread)
