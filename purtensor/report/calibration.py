"""A calibration as a report that can be filed: with the headings of quality reports on official statistics."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from purtensor.calibration.result import Calibration
from purtensor.errors import InvalidOptionError
from purtensor.projection.verify import verify
from purtensor.report.density import density_svg
from purtensor.report.page import Exhibit, Part, Report, write_report

_PACKAGES = ("purtensor", "numpy", "scipy")
# of the controls, which are filed as they were asked
_DIGITS = 9
# how many controls are listed: the others are met, and counted
_MOST = 400


def write_calibration_report(
    calibration: Calibration,
    path: Path | str,
    *,
    title: str = "Calibration of weights",
    curve: int = 0,
    command: str = "",
) -> Path:
    """Write a report on a calibration as one HTML page, which needs no other file and no network, and return its path.

    It has the controls and what they came to, the weights before and after, their design effect, the verdict with its
    proof, and how it was computed, under the headings of the European SIMS standard and of GSBPM.

    Parameters
    ----------
    calibration
        What `calibrate` returned.
    path
        Where to write, ending in .html.
    title
        The heading.
    curve
        At how many bounds on the ratios to show the cost in precision; 0 for none, as each is solved anew.
    command
        What was typed, if the report is a command's: stated in it, with the date.

    Raises
    ------
    InvalidOptionError
        Another ending than .html.

    Examples
    --------
    >>> import purtensor as pt
    >>> people = {"sex": ["f", "f", "m", "m", "m"]}
    >>> calibration = pt.calibrate(people, pt.total(1, by="sex", target={"f": 6.0, "m": 4.0}))
    >>> path = write_calibration_report(calibration, "weights.html")
    >>> "count by sex" in path.read_text()
    True
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise InvalidOptionError(f"the path of a report must end in .html, got {Path(path).name!r}")
    return write_report(calibration_report(calibration, title=title, curve=curve), Path(path), command=command)


def calibration_report(calibration: Calibration, *, title: str = "Calibration of weights", curve: int = 0) -> Report:
    """Return the report itself; parameters as in `write_calibration_report`."""
    asked = calibration.asked
    return Report(
        title,
        "The design weights were moved as little as possible, in the distance that is stated, so that the weighted "
        "sample reproduces the controls. Weights are ratios times design weights; records that no control "
        "distinguishes have the same ratio.",
        [_compilation(calibration), _accuracy(calibration, curve)],
        settings={
            "distance": asked.options.distance,
            "summed over": calibration.units.distance_over,
            "bounds": asked.bounds or "none beyond 0",
            "bounds relative to": f"design weights as {asked.relative_to}" if asked.bounds else "",
            "total": str(asked.options.total),
            "tolerance": f"{asked.tolerance:g} of the total",
        },
        versions={name: version(name) for name in _PACKAGES},
    )


def _compilation(calibration: Calibration) -> Part:
    controls = calibration.controls
    exhibits = [
        Exhibit(
            "Controls, before and after",
            "What each control is asked to be, what the sample came to with its design weights, and with the "
            "calibrated ones. An interval has two ends; a control that is met is within the tolerance of its target.",
            table=_shorten_controls(controls),
            digits=_DIGITS,
        )
    ]
    if len(calibration.given_up):
        exhibits.append(
            Exhibit(
                "Controls that were given up",
                "Soft controls that are missed, the worst first, in standard errors where these were stated.",
                table=calibration.given_up[["control", "label", "lower", "upper", "after", "miss", "standard_errors"]],
                digits=_DIGITS,
            )
        )
    units = calibration.units
    before = units.per_unit(np.ones(len(units.per_record)))
    after = units.per_unit(calibration.ratio_array)
    exhibits.append(
        Exhibit(
            "Weights before and after",
            "The darker a square, the more weights it holds; on the broken line they are as they were.",
            svg=density_svg(before, after, x="design weight", y="calibrated weight"),
        )
    )
    return Part(
        "Data compilation (SIMS S.18.5): calculation of weights (GSBPM 5.6)", calibration.summary(), (), exhibits
    )


def _shorten_controls(controls: pd.DataFrame) -> pd.DataFrame:
    """Return the controls for a page: one column for points, and those missed most if there are many."""
    shown = controls.drop(columns=[name for name in ("standard_errors",) if controls[name].isna().all()])
    if (shown["lower"] == shown["upper"]).all():
        shown = shown.rename(columns={"lower": "target"}).drop(columns="upper")
    if len(shown) <= _MOST:
        return shown
    first = shown.iloc[np.argsort(-shown["miss"].abs().to_numpy(), kind="stable")[:_MOST]]
    rest = dict.fromkeys(shown, "") | {"control": f"and {len(shown) - _MOST} more, each missed by less"}
    return pd.concat([first.astype(object), pd.DataFrame([rest])], ignore_index=True)


def _accuracy(calibration: Calibration, curve: int) -> Part:
    result = calibration.result
    checked = verify(result)
    exhibits = [
        Exhibit(
            "Sampling error (SIMS S.13.2): what unequal weights cost",
            "Kish's design effect is the factor by which unequal weights alone raise the variance of a mean that has "
            "nothing to do with them; the effective size is that of a simple random sample with the same variance. "
            "Variables that the controls explain lose less, and may gain.",
            table=calibration.spread,
        )
    ]
    if curve:
        exhibits.append(
            Exhibit(
                "What bounds on the ratios cost",
                "From the tightest bounds within which all controls can be met, to where none is active.",
                table=calibration.bound_curve(curve),
            )
        )
    facts = {
        "verdict": result.termination.value,
        "largest miss": f"{result.residual:.2g} of the total",
        "certificate": f"total variation to the exact answer at most {result.tv_bound:.2g}"
        if result.certified
        else "nothing is proved of the distance to the exact answer",
        "second opinion": "a check by separate code confirms every number"
        if checked.passed
        else f"a check by separate code does not confirm: {'; '.join(checked.failures)}",
        "zeros": "; ".join(result.notes),
    }
    return Part("Accuracy (SIMS S.13)", facts, (), exhibits)
