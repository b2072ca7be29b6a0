"""How Sphinx builds the documentation: Markdown by MyST, the reference out of the docstrings."""

from __future__ import annotations

import purtensor

project = "purtensor"
author = "The purtensor maintainers"
project_copyright = author
version = release = purtensor.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"purtensor {release}"
html_copy_source = False

myst_heading_anchors = 3
autosummary_generate = False  # the pages of the reference are written by hand, so that a test can read them
autodoc_member_order = "bysource"
# what scikit-learn generates refers to pages of its own documentation
autodoc_default_options = {"exclude-members": "get_metadata_routing, set_fit_request, set_score_request"}
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True


def without_substitutions(app, what, name, thing, options, lines: list[str]) -> None:
    """Keep the bars of absolute values as they are: docstrings are plain text, and use no substitutions."""
    lines[:] = [line.replace("|", "\\|") if "``" not in line and ">>>" not in line else line for line in lines]


def setup(app) -> None:
    """Register the step."""
    app.connect("autodoc-process-docstring", without_substitutions)
