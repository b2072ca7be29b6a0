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
"""All solvers by the names that `compare` and the command line know: where they are, imported when asked for."""
