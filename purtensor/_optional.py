"""Packages that only some functions need, and the extra that brings each."""

from __future__ import annotations

import importlib.util


def require_package(package: str, extra: str, what: str) -> None:
    """Refuse what needs a package that is not installed, and say how to get it.

    Raises
    ------
    ImportError
        It is not installed.
    """
    if importlib.util.find_spec(package) is None:
        raise ImportError(f"{what} the package {package}: pip install 'purtensor[{extra}]'", name=package)
