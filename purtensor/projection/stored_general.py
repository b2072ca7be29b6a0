"""Projections with rows of any kind as datasets of plain arrays, and back."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import xarray as xr
from scipy import sparse

from purtensor.constraints.rows import KnownRows, RowBlock, Softness
from purtensor.feasibility.row_witness import diagnose_rows
from purtensor.projection.general import GeneralEvidence
from purtensor.projection.labelled_answer import general_projection
from purtensor.projection.result import Projection
from purtensor.projection.stored_results import ENDING, NUMBERS, read_facts, write_facts
from purtensor.solving.dual.answer import Answer
from purtensor.solving.dual.labelled import LabelledQuestion, encode_with_signs
from purtensor.solving.dual.options import GeneralOptions
from purtensor.solving.dual.question import Question
from purtensor.solving.dual.watch import StepLine
from purtensor.tables.io.table_dataset import as_json, dataset_to_table, table_to_dataset

KIND = "general projection"
_CELLS = ("masses", "at_bound", "bound_potentials")
_STEP = ("iteration", "residual", "seconds")
_NUMBERS = (*NUMBERS, "objective")


def general_dataset(result: Projection) -> xr.Dataset:
    """Return a projection with rows of any kind as a dataset."""
    evidence = result.evidence
    if not isinstance(evidence, GeneralEvidence):
        raise TypeError("this is a projection onto marginals with targets")
    question, found = evidence.labelled.question, evidence.answer
    # the rows of all constraints one below the other, as the question numbers them
    rows = sparse.vstack([block.coefficients for block in question.blocks], format="csr")
    arrays: dict[str, Any] = {
        "cell_reference": ("cell", question.reference),
        "cell_lower": ("cell", question.lower),
        "cell_upper": ("cell", question.upper),
        **{f"answer_{name}": ("cell", np.asarray(getattr(found, name), dtype=np.float64)) for name in _CELLS},
        "answer_potentials": ("row", found.potentials),
        "answer_sums": ("row", found.sums),
        "row_lower": ("row", question.row_lower),
        "row_upper": ("row", question.row_upper),
        # a sparse matrix as its three arrays
        "row_begins": ("begin", rows.indptr.astype(np.int64)),
        "entry_cell": ("entry", rows.indices.astype(np.int64)),
        "entry_value": ("entry", rows.data),
        **{f"step_{name}": ("step", np.array([getattr(line, name) for line in found.lines])) for name in _STEP},
    }
    parts = [table_to_dataset(result.reference, "reference_"), xr.Dataset(arrays)]
    options = evidence.labelled.options
    facts: dict[str, Any] = {
        "kind": KIND,
        "blocks": as_json([_block_facts(block) for block in question.blocks], "the constraints"),
        "asked": len(result.constraints),
        "total": question.total,
        "fixed_total": int(question.fixed_total),
        "distance": question.distance,
        # attributes of NetCDF know no None
        "size": float("nan") if question.size is None else question.size,
        "signed": int(options.signed),
        "diagnosed": int(result.diagnosis is not None),
        "words": options.in_words(),
        **write_facts(found, ENDING),
        **write_facts(found, _NUMBERS, "answer_"),
    }
    return xr.merge(parts, combine_attrs="override").assign_attrs(facts)


def general_projection_of(dataset: xr.Dataset) -> Projection:
    """Return the projection that a dataset holds."""
    facts = dataset.attrs
    reference = dataset_to_table(dataset, "reference_")
    # cells are stored by position: the support of the reference gives them back their labels
    coded, signs = encode_with_signs(reference, signed=bool(facts["signed"]))
    blocks = _blocks(dataset, json.loads(facts["blocks"]), len(coded.values))
    size = float(facts["size"])
    # rebuilt from its numbers: scales, ends and prices are those that were solved, whatever made them
    question = Question(
        reference=dataset["cell_reference"].values,
        blocks=blocks,
        lower=dataset["cell_lower"].values,
        upper=dataset["cell_upper"].values,
        total=float(facts["total"]),
        distance=str(facts["distance"]),
        size=None if np.isnan(size) else size,
        signs=signs,
        fixed_total=bool(facts["fixed_total"]),
        describe=coded.describe,
    )
    lines = zip(*(dataset[f"step_{name}"].values.tolist() for name in _STEP), strict=True)
    found = Answer(
        masses=dataset["answer_masses"].values,
        potentials=dataset["answer_potentials"].values,
        at_bound=dataset["answer_at_bound"].values.astype(np.int8),
        bound_potentials=dataset["answer_bound_potentials"].values,
        sums=dataset["answer_sums"].values,
        lines=tuple(StepLine(*line) for line in lines),
        **read_facts(facts, ENDING),
        **read_facts(facts, _NUMBERS, "answer_"),
    )
    options = GeneralOptions(distance=question.distance, size=question.size, signed=bool(facts["signed"]))
    constraints = tuple(KnownRows(block) for block in blocks[: int(np.asarray(facts["asked"]).item())])
    labelled = LabelledQuestion(question, coded, constraints, options, reference)
    # made again instead of stored: the file cannot claim what does not hold
    verdict = diagnose_rows(labelled, str(facts["words"])) if int(facts["diagnosed"]) else None
    return general_projection(reference, labelled, found, verdict)


def _block_facts(block: RowBlock) -> dict[str, Any]:
    soft = None if block.softness is None else asdict(block.softness)
    return {"name": block.name, "labels": list(block.labels), "is_marginal": block.is_marginal, "softness": soft}


_ARRAYS = ("strength", "sd", "covariance")


def _blocks(dataset: xr.Dataset, told: list[dict[str, Any]], cells: int) -> tuple[RowBlock, ...]:
    lower, upper = dataset["row_lower"].values, dataset["row_upper"].values
    stacked = (dataset["entry_value"].values, dataset["entry_cell"].values, dataset["row_begins"].values)
    rows = sparse.csr_array(stacked, shape=(len(lower), cells))
    blocks, begin = [], 0
    for facts in told:
        own = slice(begin, begin + len(facts["labels"]))
        begin = own.stop
        soft = facts.get("softness")
        if soft is not None:
            arrays = {name: np.asarray(soft[name], dtype=np.float64) for name in _ARRAYS if soft[name] is not None}
            soft = Softness(soft["penalty"], k=float(soft["k"]), **arrays)
        blocks.append(
            RowBlock(
                facts["name"],
                tuple(facts["labels"]),
                rows[own.start : own.stop],
                lower[own],
                upper[own],
                softness=soft,
                is_marginal=bool(facts["is_marginal"]),
            )
        )
    return tuple(blocks)
