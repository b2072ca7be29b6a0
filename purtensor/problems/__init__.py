"""Benchmark problems under fixed names, small classical ones, families by size, and the slowest of a size.

The same name gives the same numbers in any process, so that figures compare.
"""

from purtensor.problems.classical import proxy
from purtensor.problems.derived import hardest, warm
from purtensor.problems.named import NamedProblem
from purtensor.problems.registry import families, generate, load, names, variant

__all__ = ["NamedProblem", "families", "generate", "hardest", "load", "names", "proxy", "variant", "warm"]
