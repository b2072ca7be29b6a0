"""Fair synthetic rows: draws from the projection, in the form of the data that came."""

from __future__ import annotations

from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from purtensor._options import is_count
from purtensor._typing import FloatArray, IntArray
from purtensor.errors import InvalidOptionError
from purtensor.sampling import sample
from purtensor.sklearn.base import ProjectingEstimator
from purtensor.tables.coded import encode


class PURResampler(ProjectingEstimator):
    """Draws fair synthetic rows from the projection of the data, as imbalanced-learn's samplers do.

    Each row is drawn with its response from q. Categories come as they are; a number that was binned is one of the
    observed numbers of its bin, drawn at random. X and y keep their containers, columns and types. What is drawn
    has parity on average, and is not anonymous (notes/what_is_fair.md).

    Parameters
    ----------
    protected, conditions, strength, reference, bins, tolerance, solver
        As in `PURClassifier`.
    n_samples
        How many rows to draw; as many as came when None.
    random_state
        A seed, a numpy RandomState, or None: see scikit-learn.

    Attributes
    ----------
    projection_
        The `Projection`; this and the attributes that are not named here are as in `PURClassifier`.

    Examples
    --------
    >>> import pandas as pd
    >>> import purtensor as pt
    >>> people = pd.DataFrame({"sex": ["f"] * 5 + ["m"] * 5})
    >>> hired = pd.Series([0, 0, 0, 0, 1, 0, 0, 1, 1, 1], name="hired")
    >>> resampler = pt.sklearn.PURResampler(protected="sex", n_samples=1000, random_state=1)
    >>> rows, decisions = resampler.fit_resample(people, hired)
    >>> rows.shape, decisions.name
    ((1000, 1), 'hired')
    """

    def __init__(
        self,
        protected: Any = None,
        *,
        conditions: str = "PUR",
        strength: float = 1e-4,
        reference: str = "empirical",
        n_samples: int | None = None,
        random_state: Any = None,
        bins: int | None = 5,
        tolerance: float = 1e-10,
        solver: Any = None,
    ) -> None:
        super().__init__(
            protected,
            conditions=conditions,
            strength=strength,
            reference=reference,
            bins=bins,
            tolerance=tolerance,
            solver=solver,
        )
        self.n_samples = n_samples
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Project the table of the rows, without drawing; errors as in `PURClassifier.fit`."""
        self._fit_rows(X, y, sample_weight)
        return self

    def fit_resample(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Return synthetic rows and their responses, drawn from the projection, in random order.

        Raises
        ------
        InvalidOptionError
            `n_samples` is not a count.
        """
        if self.n_samples is not None and not (is_count(self.n_samples) and self.n_samples >= 1):
            raise InvalidOptionError(f"n_samples must be a whole number, 1 or more, or None, got {self.n_samples!r}")
        codes, weights = self._fit_rows(X, y, sample_weight)
        size = len(weights) if self.n_samples is None else int(self.n_samples)
        # numpy's Generator is seeded from the RandomState that scikit-learn works with
        seeds = check_random_state(self.random_state).randint(0, 2**31 - 1, size=4)
        rng = np.random.default_rng(seeds.tolist())
        drawn = encode(sample(self.projection_.table, size, seed=rng))
        profile = rng.permutation(np.repeat(np.arange(len(drawn.values)), drawn.values.astype(np.int64)))
        # column by column: the number that stands for a bin need not be of the same person as the others
        sources = [
            _rows_with(own, wanted[profile], weights, rng) for own, wanted in zip(codes, drawn.codes, strict=True)
        ]
        return _gather(X, sources[1:]), _gather_response(y, sources[0])


def _rows_with(codes: IntArray, wanted: IntArray, weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Return for each wanted code a random row of positive weight that has it."""
    rows = np.flatnonzero(weights > 0)
    order = rows[np.argsort(codes[rows], kind="stable")]
    begins = np.searchsorted(codes[order], wanted, side="left")
    ends = np.searchsorted(codes[order], wanted, side="right")
    # the rows of a code stand together in this order, and are equally likely
    return np.asarray(order[begins + np.floor(rng.random(len(wanted)) * (ends - begins)).astype(np.int64)])


def _gather(X: Any, sources: list[IntArray]) -> Any:
    """Return rows in the container of X: column j of row i from row sources[j][i]."""
    if isinstance(X, pd.DataFrame):
        fields = {j: X.iloc[:, j].array.take(rows) for j, rows in enumerate(sources)}
        return pd.DataFrame(fields).set_axis(X.columns, axis=1)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [frame[rows.tolist(), [j]] for j, rows in enumerate(sources)]
        return nw.concat(columns, how="horizontal").to_native()
    array = check_array(X, dtype=None)
    return np.take_along_axis(array, np.column_stack(sources), axis=0)


def _gather_response(y: Any, rows: IntArray) -> Any:
    # pandas keeps its extension types by take; the rows are new, so the index is too
    if isinstance(y, pd.Series | pd.DataFrame):
        return y.take(rows).reset_index(drop=True)
    native = nw.from_native(y, series_only=True, pass_through=True)
    if isinstance(native, nw.Series):
        return native[rows.tolist()].to_native()
    labels: npt.NDArray[Any] = np.asarray(y)
    return labels.reshape(-1)[rows]
