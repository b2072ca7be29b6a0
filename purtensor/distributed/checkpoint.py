"""Where a run stands, on disk: the next iteration needs nothing else, and has the same bits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.distributed.packed import read_own, write_packed
from purtensor.distributed.passes import START, Tally
from purtensor.distributed.slab_store import SlabStore
from purtensor.errors import StoreError
from purtensor.solving.certificate import Certificate
from purtensor.solving.iterate import Record
from purtensor.solving.lines import TraceLine


@dataclass(slots=True, eq=False)
class Stand:
    """Where a run stands.

    Attributes
    ----------
    token
        The state in which the parts' potentials lie.
    outer
        The potentials of the rows that couple the parts.
    tally
        What the last pass found at this point.
    iterations, seconds
        So far; the sweeps of a warm-up do not count.
    warmed
        How many sweeps of the warm-up are made, and what the dual gained by them.
    slow
        How many of the last Newton steps in a row have each gained little.
    lines
        The trace.
    options
        The solver and its stopping rule, as JSON has them; `face`, where the run has found zeros that the constraints
        force: the folder in which it goes on without them, and what went before.
    sweeps
        How many sweeps are still to come before the next Newton step, because no step gained.
    proof
        What `certify` says of this point, where it was asked; not kept on disk.
    hurried
        Whether Ctrl-C ended the run: whoever pressed it waits. Not kept on disk.
    """

    token: str
    outer: FloatArray
    tally: Tally
    iterations: int = 0
    seconds: float = 0.0
    warmed: int = 0
    warm_gain: float = 0.0
    slow: int = 0
    lines: list[TraceLine] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    sweeps: int = 0
    proof: tuple[Certificate, float] | None = None
    hurried: bool = False


def keep(store: SlabStore, stand: Stand) -> None:
    """Write where the run stands, then remove the states of earlier points.

    Raises
    ------
    StoreError
        The disk is full; the checkpoint before is still whole.
    """
    arrays: dict[str, FloatArray] = {"outer": stand.outer}
    numbers: dict[str, float] = {}
    for name, value in stand.tally.sums.items():
        if isinstance(value, np.ndarray):
            arrays[f"tally_{name}"] = value
        else:
            numbers[name] = float(value)
    arrays.update({f"logs_{name}": value for name, value in stand.tally.logs.items()})
    arrays["numbers"] = np.array(list(numbers.values()))
    arrays["largest"] = np.array(list(stand.tally.largest.values()))
    arrays["lines"] = np.array([_line(line) for line in stand.lines]).reshape(-1, 8)
    arrays["clock"] = np.array([stand.seconds, stand.warm_gain])
    facts = {
        "token": stand.token, "iterations": stand.iterations, "warmed": stand.warmed, "slow": stand.slow,
        "sweeps": stand.sweeps, "options": stand.options,
        "numbers": list(numbers), "largest": list(stand.tally.largest),
    }  # fmt: skip
    write_packed(store.checkpoint, arrays, facts)
    for state in store.states.iterdir():
        if state.name != stand.token:
            shutil.rmtree(state, ignore_errors=True)


def recalled(store: SlabStore) -> Stand:
    """Return where the last run stands.

    Raises
    ------
    StoreError
        There is no checkpoint, it is damaged, or a state that it needs is gone.
    """
    path = store.checkpoint
    if not path.exists():
        raise StoreError(f"{store.folder} holds no checkpoint: no iteration was ended there; project again")
    packed = read_own(path)
    try:
        stand = _stand_of(packed.arrays, packed.facts)
        leads_elsewhere = Path(stand.token).name != stand.token or stand.token.startswith(".")
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(f"{path} does not say where a run stands: {error}") from error
    if leads_elsewhere:
        raise StoreError(f"{path} does not say where a run stands: {stand.token!r} names no state")
    missing = [n for n in store.parts if stand.token != START and not store.state(stand.token, n).exists()]
    if missing:
        raise StoreError(f"{store.folder} lacks the potentials of part {missing[0]} that its checkpoint names")
    return stand


def _stand_of(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> Stand:
    sums: dict[str, Any] = dict(zip(facts["numbers"], arrays["numbers"].tolist(), strict=True))
    sums.update({name.removeprefix("tally_"): own for name, own in arrays.items() if name.startswith("tally_")})
    logs = {name.removeprefix("logs_"): own for name, own in arrays.items() if name.startswith("logs_")}
    tally = Tally(sums, dict(zip(facts["largest"], arrays["largest"].tolist(), strict=True)), logs)
    seconds, warm_gain = arrays["clock"].tolist()
    return Stand(
        facts["token"], arrays["outer"], tally, facts["iterations"], seconds, facts["warmed"], warm_gain,
        facts["slow"], [_line_of(row) for row in arrays["lines"].tolist()], facts["options"],
        sweeps=facts.get("sweeps", 0),
    )  # fmt: skip


def _line(line: TraceLine) -> list[float]:
    r = line.record
    return [line.iteration, line.seconds, line.tv_bound, r.residual, r.residual_l1, r.kl_step, r.dual, r.iteration]


def _line_of(row: list[float]) -> TraceLine:
    record = Record(int(row[7]), row[3], row[4], row[5], row[6])
    return TraceLine(record, int(row[0]), row[1], row[2])
