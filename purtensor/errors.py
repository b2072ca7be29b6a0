"""The errors and warnings of purtensor: each is also of the built-in kind that a reader would guess."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from purtensor._error_base import PurtensorError, PurtensorWarning
from purtensor._printing import near_name, printable

if TYPE_CHECKING:
    from purtensor.projection.relaxation import Relaxation
    from purtensor.projection.result import Projection

__all__ = [
    "FileFormatError",
    "ForbiddenFileError",
    "InconsistentTargetsError",
    "InfeasibleError",
    "InvalidOptionError",
    "InvalidTableError",
    "MissingFileError",
    "MissingStoreError",
    "NoSlabsError",
    "NotAFileError",
    "NotConvergedError",
    "NotConvergedWarning",
    "PurtensorError",
    "PurtensorWarning",
    "StoreError",
    "SuspiciousColumnWarning",
    "TooLargeError",
    "UndefinedRatioWarning",
    "UnfairDecisionsWarning",
    "UnknownAttributeError",
    "UnknownCategoryError",
    "UnreadableFileError",
]


class NotConvergedWarning(PurtensorWarning):
    """The constraints of a projection are not met, and `on_failure` is "warn"."""


class UndefinedRatioWarning(PurtensorWarning):
    """A ratio has the denominator 0, so it is NaN."""


class UnfairDecisionsWarning(PurtensorWarning):
    """Decisions do not have the parity of the probabilities that they are based on."""


class SuspiciousColumnWarning(PurtensorWarning):
    """A column that is used by default is probably not an attribute, but a weight, an identifier or a number."""


_MOST_NAMES = 30


def _first(labels: list[Hashable], spell: Callable[[Hashable], str]) -> str:
    """Return the first labels as one text; "..." says that there are more."""
    return ", ".join(map(spell, labels[:_MOST_NAMES])) + ", ..." * (len(labels) > _MOST_NAMES)


def _spell(label: Hashable) -> str:
    """Return a label as Python spells numbers and text, anything else in quotes."""
    # numpy 2 would print np.int64(1)
    plain = label.item() if hasattr(label, "item") else label  # of numpy's numbers
    return repr(plain) if isinstance(plain, str | int | float) else repr(str(plain))


class _KeyedError(PurtensorError, KeyError):
    def __str__(self) -> str:  # KeyError would print the repr of the message
        return printable(str(self.args[0])) if self.args else ""


class UnknownAttributeError(_KeyedError):
    """The table has no attribute of this name."""

    expected = "an attribute that is there"
    hint = "give one of the names that are there"

    @classmethod
    def among(cls, name: Hashable, attributes: Iterable[Hashable], where: str = "this table") -> UnknownAttributeError:
        """Return the error for `name`, which `where` with these `attributes` lacks."""
        known = list(attributes)
        names = _first(known, str)
        hint = near_name(name, known)
        return cls(
            f"no attribute {name!r}; {where} has {names or 'none'}{f'; {hint}' if hint else ''}",
            where=where,
            expected=known,
            got=name,
            hint=hint,
        )


class UnknownCategoryError(_KeyedError):
    """The attribute has no such category."""

    expected = "a category that is there, of the same type"
    hint = "give one of the categories that are there"

    @classmethod
    def with_mass(
        cls, label: Hashable, attribute: Hashable, categories: Iterable[Hashable], *, of: str, lacks: str
    ) -> UnknownCategoryError:
        """Return the error for a `label` that has mass in one table, and that the other one, with these, lacks."""
        known = list(categories)
        return cls._of(
            f"{of} has mass in {attribute}={_spell(label)}, a category that {lacks} does not have "
            f"(it has {_first(known, _spell)}); labels are compared with their types, "
            "and a category that must be empty is listed with target 0",
            label,
            attribute,
            known,
        )

    @classmethod
    def among(
        cls, label: Hashable, attribute: Hashable, categories: Iterable[Hashable], detail: str = ""
    ) -> UnknownCategoryError:
        """Return the error for a `label` that an attribute with these categories lacks, and a detail about it."""
        known = list(categories)
        besides = f", {detail}" if detail else ""
        text = f"no category {label!r} in attribute {attribute!r}{besides}; it has {_first(known, repr)}"
        return cls._of(text, label, attribute, known)

    @classmethod
    def _of(cls, text: str, label: Hashable, attribute: Hashable, known: list[Hashable]) -> UnknownCategoryError:
        """Return the error with this text, followed by the nearest known label, and the same as data."""
        hint = near_name(label, known)
        whole = f"{text}; {hint}" if hint else text
        return cls(whole, where=str(attribute), expected=known, got=label, hint=hint)


class InvalidTableError(PurtensorError, ValueError):
    """A table is invalid: negative, not finite, empty, with repeated profiles, or of the wrong form."""

    expected = "labels that are there, each profile once, and numbers that are finite and not negative"
    hint = "correct the data that the message names"


class InvalidOptionError(PurtensorError, ValueError):
    """An option has an invalid value."""

    expected = "options that the call takes, and that go together"
    hint = "change the option that the message names"

    @classmethod
    def among(cls, what: str, value: object, known: Iterable[Hashable], sentence: str = "") -> InvalidOptionError:
        """Return the error for a `value` that is none of the words `known`, with this sentence or one made of them.

        Examples
        --------
        >>> print(InvalidOptionError.among("solver", "newtn", ["ipf", "newton"]))
        no solver 'newtn'; there are ipf, newton; did you mean 'newton'?
        """
        words = list(known)
        hint = near_name(value, words) if isinstance(value, str) else None
        text = sentence or f"no {what} {value!r}; there are {', '.join(map(str, words))}"
        return cls(f"{text}{f'; {hint}' if hint else ''}", where=what, expected=words, got=value, hint=hint)


class InconsistentTargetsError(PurtensorError, ValueError):
    """Constraints contradict each other in their totals or in a marginal that they share."""

    expected = "targets with one total, equal on the marginals that they share"
    hint = "correct the targets, or approach some of them (purtensor.soft)"


class InfeasibleError(PurtensorError, ValueError):
    """No distribution on the support of the reference meets the constraints.

    Attributes
    ----------
    diagnosis
        The proof, in the labels of the data, if one was computed.
    """

    expected = "constraints that a table on the support of the reference meets"
    hint = "see purtensor.diagnose for what excludes them; leave out constraints, or approach them (purtensor.relax)"

    def __init__(self, message: str, diagnosis: Any = None, **facts: object) -> None:
        super().__init__(message, **facts)
        self.diagnosis = diagnosis
        # kept apart, so that callers can replace it by advice of their own
        self._advice = str(facts.get("hint") or "")

    @property
    def reason(self) -> str:
        """The message without the advice that was added to it."""
        return str(self).removesuffix(self._advice).rstrip("\n; ")


class NotConvergedError(PurtensorError, RuntimeError):
    """The solver ended before the constraints were met.

    Attributes
    ----------
    projection
        The current state, with its residual: a Projection with trace and potentials, or a Relaxation.
    """

    expected = "every constraint met to the tolerance"
    hint = "increase max_iterations, or use solver=Newton()"

    def __init__(self, message: str, projection: Projection | Relaxation | None = None, **facts: object) -> None:
        super().__init__(message, **facts)
        self.projection = projection

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it, or a callback that returned True."""
        return getattr(getattr(self.projection, "termination", None), "name", "") == "INTERRUPTED"


class TooLargeError(PurtensorError, MemoryError):
    """A request needs more memory than is available; raised before anything is allocated.

    Attributes
    ----------
    bytes_needed, bytes_available
        The required memory, and the memory available to this process.
    """

    hint = "use the sparse layout, fewer attributes, or a table on disk (purtensor.store_table)"

    def __init__(self, message: str, bytes_needed: int, bytes_available: int, **facts: object) -> None:
        super().__init__(message, **{"expected": bytes_available, "got": bytes_needed, **facts})
        self.bytes_needed = bytes_needed
        self.bytes_available = bytes_available

    def __reduce__(self) -> tuple[Any, ...]:  # between processes all three are needed
        return type(self), (str(self), self.bytes_needed, self.bytes_available), self.__dict__


class FileFormatError(PurtensorError, ValueError):
    """A file is damaged or has an unexpected format or content."""

    expected = "a whole file of a supported format"
    hint = "correct the file, or write it again"


class StoreError(PurtensorError, OSError):
    """A store on disk cannot be written, is damaged, or is incomplete; data that were complete before are kept."""

    expected = "a whole store, on a disk that can be read and written"
    hint = "check the disk, then write the store or project again"


class UnreadableFileError(PurtensorError, OSError):
    """A file does not exist, is not a file, or may not be opened; the message has the path and the expected content.

    Attributes
    ----------
    filename
        The path as it was given.
    """

    expected = "a file that can be read"
    hint = "check the path and the rights of its folder"

    def __str__(self) -> str:  # OSError would put the number of the error and the path around the message
        return str(self.args[0]) if self.args else ""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file does not exist, or is a broken link."""


class NotAFileError(UnreadableFileError, IsADirectoryError):
    """A path is a folder, but a file was expected."""


class ForbiddenFileError(UnreadableFileError, PermissionError):
    """A file may not be opened: permission is denied."""


class MissingStoreError(StoreError, MissingFileError):
    """A store on disk does not exist."""

    expected = "a stored table, or a run"


class NoSlabsError(PurtensorError, ValueError):
    """The constraints cannot be divided into slabs; such a problem can only be solved in memory or by L-BFGS."""

    expected = "constraints that some attributes divide into slabs"
    hint = "use solver=LBFGS(), or a table in memory (to_table)"
