"""How Sphinx builds the documentation: Markdown by MyST, the reference out of the docstrings."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import purtensor

HERE = Path(__file__).parent
for made in ("reference/names", "gallery", "commands"):
    shutil.rmtree(HERE / made, ignore_errors=True)  # pages of names, examples and commands that are gone
sys.path.insert(0, str(HERE))

from generated_pages import write_codes, write_pages  # noqa: E402

project = "purtensor"
author = "The purtensor maintainers"
project_copyright = author
version = release = purtensor.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_argparse_cli",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "examples"]
templates_path = ["_templates"]
html_theme = "furo"
html_title = f"purtensor {release}"
html_copy_source = False
html_sidebars = {
    "**": [
        f"sidebar/{part}.html" for part in ("brand", "search", "scroll-start", "navigation", "versions", "scroll-end")
    ]
    + ["sidebar/variant-selector.html"]
}

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_space = False  # a dollar before a blank is a dollar
autosummary_generate = True  # a page a name, of those that the pages of the reference list
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "image_scrapers": "gallery_figures.figures",
    "abort_on_example_error": True,
    "min_reported_time": 60,
    "write_computation_times": False,
    "show_signature": False,
}
autodoc_member_order = "bysource"
# what scikit-learn generates refers to pages of its own documentation
_REQUESTS = [f"set_{method}_request" for method in ("fit", "predict", "predict_proba", "score")]
autodoc_default_options = {"exclude-members": ", ".join(["get_metadata_routing", *_REQUESTS])}
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
python_use_unqualified_type_names = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_attr_annotations = False  # the types stand in the signature


def without_substitutions(app, what, name, thing, options, lines: list[str]) -> None:
    """Keep the bars of absolute values as they are: docstrings are plain text, and use no substitutions."""
    lines[:] = [line.replace("|", "\\|") if "``" not in line and ">>>" not in line else line for line in lines]


def one_field_a_name(app, what, name, thing, options, lines: list[str]) -> None:
    """Say what is said of several attributes of each of them: Sphinx takes all but the last name for a type."""
    fields = r"^:ivar (\w+(?:, \w+)*):(.*(?:\n[ ]+.*)*)"
    lines[:] = re.sub(fields, each_named, "\n".join(lines), flags=re.MULTILINE).split("\n")


def each_named(field: re.Match[str]) -> str:
    """Return a field for each name; an underscore at its end would be a link."""
    names = [name[:-1] + "\\_" if name.endswith("_") else name for name in field[1].split(", ")]
    return "\n".join(f":ivar {name}:{field[2]}" for name in names)


def no_type_of_a_property(app, what, name, thing, options, lines: list[str]) -> None:
    """Keep "Shape (D,): what it is" together: what stands before the colon is no type here."""
    for line in [line for line in lines if what == "property" and line.startswith(":type: ")]:
        lines.remove(line)
        lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"


def public_bases(app, name, thing, options, bases: list[type]) -> None:
    """Name what a private base class is made of in its place."""
    for base in [base for base in bases if base.__name__.startswith("_")]:
        at = bases.index(base)
        bases[at : at + 1] = base.__bases__


def list_versions(app, page: str, template: str, context: dict, doctree) -> None:
    """Link every page to the other versions: those that were built into folders beside this one."""
    here = Path(app.outdir)
    names = {here.name, *(found.parent.name for found in here.parent.glob("*/objects.inv"))}
    context["versions"] = [(name, context["pathto"](f"../{name}/index.html", 1)) for name in sorted(names)]


def setup(app) -> None:
    """Register the steps."""
    app.connect("html-page-context", list_versions)
    app.connect("builder-inited", lambda app: write_pages(HERE / "commands"))
    app.connect("builder-inited", lambda app: write_codes(HERE / "reference" / "error_codes.rst"))
    app.connect("autodoc-process-docstring", without_substitutions)
    app.connect("autodoc-process-docstring", one_field_a_name)
    app.connect("autodoc-process-docstring", no_type_of_a_property)
    app.connect("autodoc-process-bases", public_bases)
