"""The answer of a projection, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast

import xarray as xr

from purtensor._lazy_field import lazy_field
from purtensor._printing import Shown, draw
from purtensor._typing import Table, TableT
from purtensor.errors import InvalidOptionError
from purtensor.feasibility.diagnosis import Diagnosis
from purtensor.projection.derivatives import Derivatives, Gradient
from purtensor.projection.evidence import ChunkedEvidence, Evidence
from purtensor.projection.general import GeneralEvidence, plain_rows
from purtensor.projection.labels import describe_washout
from purtensor.projection.log_reference import IN_MASS, support_of
from purtensor.projection.solved import arrays_of, bound_log_ratio, in_its_engine
from purtensor.solving.termination import Termination

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from purtensor.convergence.forecasting import Forecast


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Projection(Shown, Generic[TableT]):
    """An information projection, with its solver run and proved bounds on its distance from the exact projection.

    Attributes
    ----------
    termination
        Why the run ended.
    certified
        Whether a bound is proved: `bound` is inf and `tv_bound` 1 otherwise.
    residual, residual_l1
        The largest miss over all constrained profiles, and the sum of misses in the worst constraint, of the projection
        divided by its total.
    divergence
        KL divergence of the projection from the reference, in nats.
    bound, tv_bound
        Proved: the exact projection q has D(q || table) <= bound nats and lies within tv_bound of `table` in total
        variation. `bound` is inf where the table has lost a profile that q may have some mass on, however little.
    iterations, seconds
        The sweeps of IPF or steps of Newton, and the time of the solver without the certificate.
    notes
        Remarks on the run: choices of the solver, and categories excluded from the problem.
    table
        The projection, in the layout and with the profiles of the reference; its total is that of the targets. For a
        stored reference it is a StoredTable, written at the first access. For a reference of chunks of dask it has the
        same chunks: it is written at the first access, and its values are read when they are computed.
    diagnosis
        The verdict on feasibility, if one was requested or needed.
    reference, constraints
        The projected problem; not copied.
    reference_in
        "mass", or "log" where the reference is given by its logarithms: then the logarithm of the table is the
        reference plus the potentials of each profile.
    evidence
        The arrays of the result, in memory or on disk.
    """

    termination: Termination
    certified: bool
    residual: float
    residual_l1: float
    divergence: float
    bound: float
    tv_bound: float
    iterations: int
    seconds: float
    notes: tuple[str, ...]
    diagnosis: Diagnosis[TableT] | None
    reference: TableT
    constraints: tuple[Any, ...]
    evidence: Evidence[TableT]
    reference_in: str = IN_MASS
    table: TableT = lazy_field()

    @property
    def converged(self) -> bool:
        """Whether every constraint is met to the tolerance."""
        return self.termination.converged

    @property
    def potentials(self) -> tuple[Table, ...]:
        """The dual variables, natural logarithms, one table per constraint: table = reference * exp(C^T potentials).

        Zero on dependent rows, -inf on zero targets. Those of a stored table are as its solver left them, without the
        rows of zero targets; where they are on disk they are read, see `potential_chunks`.
        """
        return self.evidence.potentials

    @property
    def independent_rows(self) -> tuple[Table, ...] | None:
        """The rows onto whose targets `bound` and `tv_bound` are proved: a table of True and False per constraint.

        They are a maximal independent set. The other rows follow from them, and may miss their targets in the last
        digits where targets contradict each other there. None where a solver knows no such set, or a file does not
        say it.
        """
        return self.evidence.independent_rows

    @property
    def trace(self) -> xr.Dataset:
        """The measurements during the run, over the dimension `record`; attributes state the units."""
        return self.evidence.trace

    @property
    def path(self) -> Path | None:
        """The folder of a run on disk: slabs, potentials, checkpoint, from which `resume` continues. None in memory."""
        return self.evidence.path

    def chunks(self) -> Iterator[Table]:
        """Yield the projection part by part, slabs whole, without writing it; in memory there is one part."""
        return self.evidence.chunks()

    def potential_chunks(self) -> Iterator[tuple[Table, ...]]:
        """Yield the potentials part by part, on the rows with a profile there; rows that couple parts are in each."""
        return self.evidence.potential_chunks()

    @property
    def is_general(self) -> bool:
        """Whether rows of other kinds than marginals with targets, bounds or another distance were requested."""
        return isinstance(self.evidence, GeneralEvidence)

    @property
    def rows(self) -> xr.Dataset:
        """What each row of the constraints comes to, over `row`; of tables in memory.

        Variables are `value`, `lower`, `upper`, `miss`, `potential` and `state`, which is "met", "missed", or for an
        interval "lower", "upper" or "inside"; the coordinates `constraint` and `label` say which row it is.
        """
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.rows
        return plain_rows(
            self._in_memory(support_of(self)), self.constraints, self._in_memory(self.table), self.potentials
        )

    @property
    def at_bound(self) -> Table:
        """-1 where a profile is at its lower bound, 1 where it is at its upper one, else 0; of tables in memory."""
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.at_bound
        return xr.zeros_like(self._in_memory(self.table)).rename("at_bound")

    @property
    def bound_potentials(self) -> Table:
        """What a bound takes off the sum of the potentials of a profile, in nats; 0 between the bounds."""
        if isinstance(self.evidence, GeneralEvidence):
            return self.evidence.bound_potentials
        return xr.zeros_like(self._in_memory(self.table)).rename("bound_potential")

    @property
    def objective(self) -> float:
        """What was minimised: the divergence, or another distance, and what soft rows cost, in nats."""
        return self.evidence.objective if isinstance(self.evidence, GeneralEvidence) else self.divergence

    @property
    @in_its_engine
    def log_ratio_bound(self) -> float:
        """Proved: |log(q / table)| <= this on every profile with mass, q being the exact projection; in nats.

        Computed on request, at the cost of some Newton iterations and of an array of profiles times the rows
        beside those of two constraints. It is inf where nothing is proved: far from convergence, for more than
        2 10^7 entries of that array, for rows of other kinds, and for tables on disk that memory does not hold or
        whose targets are sums of fractions on disk (notes/log_ratio.md).
        """
        if self.is_general or self.termination is Termination.INFEASIBLE:
            return float("inf")
        return bound_log_ratio(as_stored(cast("Projection[Any]", self)))

    @in_its_engine
    def jvp(self, targets: Sequence[Table | None] | None = None, log_reference: Table | None = None) -> Table:
        """Return the change of the projection for small changes of its targets and its reference, to first order.

        Parameters
        ----------
        targets
            One table of changes a constraint, in the units of its target, or None where it does not change. They must
            agree on what constraints share.
        log_reference
            A table of changes of the logarithms of the reference's masses; what it does not list does not change.

        Returns
        -------
        Table
            Like the reference, in the units of `table`; 0 on profiles without mass.

        Raises
        ------
        InconsistentTargetsError
            Changes that no table can follow.
        InvalidOptionError
            A projection that has not converged, or has rows of other kinds or bounds; targets on a face that leave it.
        InvalidTableError
            Tables over other attributes, or with values that are not finite.
        """
        return self._derivatives().forward(targets, log_reference)

    @in_its_engine
    def vjp(self, gradient: Table) -> Gradient:
        """Return the derivatives of a number h of the projection with respect to its targets and its reference.

        One solve with the matrix of Newton's method, whatever the number of targets (notes/derivatives.md).

        Parameters
        ----------
        gradient
            dh/dq, profile by profile; profiles that it does not list have derivative 0.

        Returns
        -------
        Gradient
            `targets`, a table per constraint, and `log_reference`, a table like the reference.

        Raises
        ------
        InvalidOptionError, InvalidTableError
            As `jvp`.
        """
        return self._derivatives().backward(gradient)

    def _derivatives(self) -> Derivatives:
        require_projection(self)
        if not self.converged:
            raise InvalidOptionError(
                f"the projection has not converged ({self.termination.value}), so it has no derivative"
            )
        # refuses tables on disk, whose solver's arrays are not at hand
        self._in_memory(self.reference)
        return Derivatives.at(*arrays_of(self))

    def plot(self, *, title: str = "", forecast: Forecast | None = None) -> Axes:
        """Return axes with what changed, and how the misses fell; see `purtensor.plots.plot_projection`."""
        return draw("plot_projection", self, title=title, forecast=forecast)

    def summary(self) -> dict[str, str]:
        """Return a summary of the answer as named texts."""
        return {
            "ending": self.termination.value,
            "residual": f"{self.residual:.2e} (largest), {self.residual_l1:.2e} (L1)",
            "divergence": f"{self.divergence:.9g} nats",
            "proved": f"D <= {self.bound:.2e} nats, TV <= {self.tv_bound:.2e}" if self.certified else "nothing",
            "washed out": describe_washout(self.reference) if isinstance(self.reference, Table) else "",
            "iterations": f"{self.iterations} in {self.seconds:.3g} s",
            "notes": "; ".join(self.notes),
            "on disk": "" if self.path is None else str(self.path),
        }

    def _in_memory(self, table: object) -> Table:
        if isinstance(table, Table) and self.path is None:
            return table
        raise InvalidOptionError(
            "this is available for projections in memory only; the table is stored on disk: read result.table by "
            "chunks, or "
            "project its to_table()"
        )


def as_stored(result: Projection[Any]) -> Projection[Any]:
    """Return a projection as it is stored, where its table is one of chunks of dask; any other as it is.

    Raises
    ------
    InvalidOptionError
        Its table has been replaced by one that is not stored.
    """
    evidence = result.evidence
    if not isinstance(evidence, ChunkedEvidence):
        return result
    given = vars(result)["table"]
    if given is not None and given is not evidence.table:
        raise InvalidOptionError("result must have the table that its run stored, got another one")
    return evidence.stored


def require_projection(result: object) -> None:
    """Refuse what is no Projection of a table in memory."""
    if not isinstance(result, Projection):
        raise InvalidOptionError(
            f"result must be a Projection, as purtensor.project returns one, got {type(result).__qualname__}"
        )
    if result.path is not None:
        raise InvalidOptionError(
            "result must be a Projection of a table in memory, got one of a stored table; project its to_table()"
        )
    if result.is_general:
        raise InvalidOptionError(
            "this needs a projection onto marginals with targets; with soft rows, intervals, bounds or another "
            "distance "
            "the answer is not differentiable everywhere: resample the records and project again"
        )
