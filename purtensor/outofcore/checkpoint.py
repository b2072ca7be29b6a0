"""Where a run stands, on disk: the next iteration needs nothing else, and has the same bits."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from purtensor._typing import FloatArray
from purtensor.errors import StoreError
from purtensor.outofcore.array_file import read_own, write_packed
from purtensor.outofcore.engine import Tally
from purtensor.outofcore.passes import START
from purtensor.outofcore.slab_store import SlabStore
from purtensor.solving.iterate import Record
from purtensor.solving.run_state import Lines, State, TraceLine
from purtensor.solving.spaces.space import NewtonMemory


@dataclass(slots=True, eq=False)
class PartsPoint:
    """A point: the state in which the parts' potentials lie, the potentials that couple them, and what a pass found."""

    token: str
    outer: FloatArray
    tally: Tally
    memory: object = None


def keep(store: SlabStore, state: State[PartsPoint], options: dict[str, Any]) -> None:
    """Write where the run stands, then remove the states of earlier points.

    Raises
    ------
    StoreError
        The disk is full; the checkpoint before is still whole.
    """
    point = state.point
    arrays: dict[str, FloatArray] = {"outer": point.outer}
    numbers: dict[str, float] = {}
    for name, value in point.tally.sums.items():
        if isinstance(value, np.ndarray):
            arrays[f"tally_{name}"] = value
        else:
            numbers[name] = float(value)
    arrays.update({f"logs_{name}": value for name, value in point.tally.logs.items()})
    arrays["numbers"] = np.array(list(numbers.values()))
    arrays["largest"] = np.array(list(point.tally.largest.values()))
    arrays["lines"] = np.array([_line(line) for line in state.lines]).reshape(-1, 8)
    arrays["clock"] = np.array([state.seconds])
    facts = {
        "token": point.token,
        "iterations": state.iterations,
        "doubtful": state.doubtful,
        "asked": state.asked,
        "emptying": state.emptying,
        "memory": asdict(point.memory) if isinstance(point.memory, NewtonMemory) else None,
        "notes": state.notes,
        "options": options,
        "numbers": list(numbers),
        "largest": list(point.tally.largest),
    }
    # replaced in one move; only then may states of the point before go
    write_packed(store.checkpoint, arrays, facts)
    # tried steps that were not taken, and the point before
    for there in store.states.glob("*"):
        if there.name != point.token:
            shutil.rmtree(there, ignore_errors=True)


def recall(store: SlabStore) -> tuple[State[PartsPoint], dict[str, Any]]:
    """Return where the last run stands, and its options.

    Raises
    ------
    StoreError
        There is no checkpoint, it is damaged, or a state that it needs is gone.
    """
    path = store.checkpoint
    if not path.exists():
        raise StoreError(f"{store.folder} has no checkpoint: no iteration was completed there; project again")
    packed = read_own(path)
    try:
        state, options = _state_of(packed.arrays, packed.facts)
        token = state.point.token
        # a token names a folder: it must not lead out of the store
        leads_elsewhere = Path(token).name != token or token.startswith(".")
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise StoreError(f"{path} has no valid state of a run: {error}") from error
    if leads_elsewhere:
        raise StoreError(f"{path} has no valid state of a run: unknown state {token!r}")
    # existence only: reading all states is left to the pass that needs them
    missing = [n for n in store.parts if token != START and not store.state(token, n).exists()]
    if missing:
        raise StoreError(f"{store.folder} has no potentials for part {missing[0]}, which its checkpoint needs")
    return state, options


def _state_of(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> tuple[State[PartsPoint], dict[str, Any]]:
    sums: dict[str, Any] = dict(zip(facts["numbers"], arrays["numbers"].tolist(), strict=True))
    sums.update({name.removeprefix("tally_"): own for name, own in arrays.items() if name.startswith("tally_")})
    logs = {name.removeprefix("logs_"): own for name, own in arrays.items() if name.startswith("logs_")}
    tally = Tally(sums, dict(zip(facts["largest"], arrays["largest"].tolist(), strict=True)), logs)
    memory = None if facts["memory"] is None else NewtonMemory(**facts["memory"])
    first, *rest = [_line_of(row) for row in arrays["lines"].tolist()]
    lines = Lines(first)
    for line in rest:
        lines.add(line)
    point = PartsPoint(facts["token"], arrays["outer"], tally, memory)
    state = State(
        point,
        lines,
        facts["iterations"],
        arrays["clock"].tolist()[0],
        list(facts["notes"]),
        doubtful=facts["doubtful"],
        asked=facts["asked"],
        emptying=float(facts.get("emptying", 0.0)),  # checkpoints of earlier versions do not say
    )
    return state, facts["options"]


def _line(line: TraceLine) -> list[float]:
    r = line.record
    return [line.iteration, line.seconds, line.tv_bound, r.residual, r.residual_l1, r.kl_step, r.dual, r.iteration]


def _line_of(row: list[float]) -> TraceLine:
    record = Record(int(row[7]), row[3], row[4], row[5], row[6])
    return TraceLine(record, int(row[0]), row[1], row[2])
