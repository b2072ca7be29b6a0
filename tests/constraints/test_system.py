from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from purtensor.constraints import indexing
from purtensor.constraints.slabs import arrange, choose_key
from purtensor.constraints.system import align, reduce_system
from purtensor.tables.coded import encode
from tests.strategies import cases


def rows_of(system):
    """For each profile the labels of its row in every constraint, read off the system."""
    return [
        [tuple(code[row] for code in codes) for row in rows]
        for rows, codes in zip(system.index.tolist(), system.row_codes)
    ]


@pytest.mark.parametrize("long", [0, 10**9])
@given(case=cases())
def test_align__every_profile_is_in_the_row_of_its_own_categories(long, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "LONG", long)
        coded = encode(case.reference)
        system = align(coded, case.constraints)
        for k, (scope, rows) in enumerate(zip(system.scopes, rows_of(system))):
            assert rows == [tuple(profile) for profile in zip(*(code.tolist() for code in coded.columns(scope)))]
            block = system.block(k)
            target = {tuple(map(int, key)): 0.0 for key in zip(*system.row_codes[k])}
            own = case.targets[k]
            for labels, mass in own.items():
                key = tuple(coded.domain.code(name, label) for name, label in zip(scope, labels))
                target[key] = float(mass)
            assert system.targets[block].tolist() == list(target.values())
            assert list(target) == sorted(target)


@pytest.mark.parametrize("long", [0, 10**9])
@given(case=cases())
def test_reduce_system__keeps_what_has_no_zero_target(long, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "LONG", long)
        system = align(encode(case.reference), case.constraints)
        targets = system.targets.copy()
        targets[:: 1 + len(targets) // 3] = 0.0
        full = system.with_targets(targets)
        reduced = reduce_system(full)
        keys = list(zip(*full.index.tolist()))
        zero = [targets[full.block(k)] == 0 for k in range(len(full.scopes))]
        kept = [i for i, key in enumerate(keys) if not any(z[row] for z, row in zip(zero, key))]
        assert reduced.profiles.tolist() == kept
        assert reduced.rows.tolist() == np.flatnonzero(targets).tolist()
        assert (reduced.system.targets > 0).all()
        assert rows_of(reduced.system) == [[rows[i] for i in kept] for rows in rows_of(full)]


@pytest.mark.parametrize("long", [0, 10**9])
@given(case=cases())
def test_arrange__slabs_hold_together_and_the_order_leads_back(long, case):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexing, "LONG", long)
        system = align(encode(case.reference), case.constraints)
        key = choose_key(system)
        if key is None:
            return
        arranged, slabs, order = arrange(system, key)
        assert arranged.index.tolist() == system.index[:, order].tolist()
        assert sorted(order.tolist()) == list(range(system.profiles))
        for k in slabs.inside:
            slab_of_profile = np.repeat(np.arange(slabs.count), np.diff(slabs.slab_ptr))
            found = {}
            for row, slab in zip(arranged.index[k].tolist(), slab_of_profile.tolist()):
                assert found.setdefault(row, slab) == slab
        groups = np.repeat(slabs.primary, np.diff(slabs.group_ptr))
        main = slabs.inside[0]
        assert (arranged.index[main] + arranged.offsets[main]).tolist() == groups.tolist()
