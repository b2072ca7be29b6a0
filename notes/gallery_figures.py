"""How the gallery finds the pictures of an example: the axes that it names, since no window holds their figures."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from sphinx_gallery.scrapers import figure_rst


def figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figure that `axes` is part of, if this block made it, and return the directive that shows it."""
    axes = block_vars["example_globals"].pop("axes", None)
    if not isinstance(axes, Axes):
        return ""
    path = next(block_vars["image_path_iterator"])
    axes.get_figure(root=True).savefig(path, dpi=150)
    return str(figure_rst([path], gallery_conf["src_dir"]))
