"""Solvers: each moves an iterate and nothing else."""

from collections.abc import Mapping
from types import MappingProxyType

SOLVERS: Mapping[str, str] = MappingProxyType(
    {
        "auto": "automatic.Automatic",
        "ipf": "ipf.solver.IPF",
        "newton": "newton.Newton",
        "gis": "gis.GIS",
        "lbfgs": "lbfgs.LBFGS",
    }
)
"""All solvers by their names in `compare` and on the command line, with their modules, imported on request."""
