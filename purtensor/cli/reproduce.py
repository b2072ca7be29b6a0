"""`purtensor reproduce`: the paper's studies, each by its own module."""

from __future__ import annotations

import argparse

from purtensor.cli import reproduce_adult, reproduce_wage

STUDIES = {"adult": reproduce_adult.run, "wage": reproduce_wage.run}


def run(arguments: argparse.Namespace) -> None:
    """Compute the study that was requested, write its files and its report, and print its tables."""
    STUDIES[arguments.study](arguments)
