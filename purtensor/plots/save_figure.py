"""Figures as files."""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from purtensor.errors import InvalidOptionError, PurtensorWarning
from purtensor.tables.io.atomic import replace_file


def save_figure(axes: Axes, path: Path, *, title: str = "", dots_per_inch: int = 200) -> tuple[Path, Path]:
    """Write the figure of `axes` as SVG and as PNG beside each other, each whole or not at all, and return both paths.

    The same figure gives the same bytes: the files carry no date, and the names inside the SVG are not random.

    Parameters
    ----------
    path
        Where, without an ending.
    title
        What the file's own metadata say it shows.
    dots_per_inch
        Of the PNG.

    Raises
    ------
    InvalidOptionError
        The path has an ending of its own.

    Warns
    -----
    PurtensorWarning
        What the figure does not show as it should: characters that the font lacks, or labels that leave no room.

    Examples
    --------
    >>> import tempfile
    >>> import purtensor as pt
    >>> problem = pt.problems.load("haberman")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     axes = pt.project(problem.reference, problem.constraints).plot()
    ...     print(*[path.name for path in save_figure(axes, Path(folder) / "changed")])
    changed.svg changed.png
    """
    if path.suffix:
        raise InvalidOptionError(f"the path of a figure has no ending, .svg and .png are added; got {path.name!r}")
    figure = _root_figure(axes)
    vector, pixels = path.with_suffix(".svg"), path.with_suffix(".png")
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        _write(figure, vector, pixels, title, dots_per_inch)
    for message in sorted({str(warning.message) for warning in given}):
        warnings.warn(f"{vector.name}: {message}", PurtensorWarning, stacklevel=2)
    return vector, pixels


def _write(figure: Figure, vector: Path, pixels: Path, title: str, dots_per_inch: int) -> None:
    facts = {"Date": None, "Creator": "purtensor", "Title": title}
    with mpl.rc_context({"svg.hashsalt": "purtensor", "svg.fonttype": "path"}), replace_file(vector) as temporary:
        figure.savefig(temporary, format="svg", metadata=facts)
    engine = figure.get_layout_engine()
    figure.set_layout_engine("none")  # the layout is in parts of the figure: it serves both files
    try:
        with replace_file(pixels) as temporary:
            figure.savefig(
                temporary, format="png", dpi=dots_per_inch, metadata={"Software": "purtensor", "Title": title}
            )
    finally:
        figure.set_layout_engine(engine)


def _root_figure(axes: Axes) -> Figure:
    figure: Figure | SubFigure | None = axes.get_figure(root=True)
    if not isinstance(figure, Figure):
        raise InvalidOptionError("the axes must belong to a figure")
    return figure
