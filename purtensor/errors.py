"""The errors and warnings of purtensor: each is also of the built-in kind that a reader would guess."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

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


_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
"""Where one word of a class's name ends and the next begins."""


_MUST_BE = re.compile(
    r"(?P<where>[\w .'\[\]=-]{1,60}?) must be (?P<expected>[^\n]+?), got (?P<got>[^\n]+?)(?:; [^;]*)?$"
)
"""How messages about options read, as far as these tell what was expected and what came."""


class PurtensorError(Exception):
    """Base class of every error that purtensor raises on purpose; its text holds no control characters.

    Attributes
    ----------
    code
        A stable word for the kind of fault, for programs; the reference lists all of them.
    where
        The file, attribute, option or constraint that it is about, where there is one.
    expected, got
        What was wanted, and what came: values, or their text where the message is "... must be ..., got ...".
    hint
        What to type or do; the message ends with it.
    """

    code: str = "error"
    where: str | None = None
    expected: object = None
    got: object = None
    hint: str | None = None

    def __init__(self, *args: object, **facts: object) -> None:
        super().__init__(*args)
        for name, fact in facts.items():
            if name not in ("code", "where", "expected", "got", "hint"):
                raise TypeError(f"an error has no attribute {name!r}")
            setattr(self, name, fact)
        told = _MUST_BE.match(str(args[0])) if args else None
        if told is not None:
            for name in ("where", "expected", "got"):
                if getattr(self, name) is None:
                    setattr(self, name, told[name])

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "code" not in cls.__dict__:  # InvalidTableError: invalid-table
            words = _WORDS.sub("-", cls.__name__.strip("_").removesuffix("Error"))
            cls.code = words.lower()

    def __str__(self) -> str:
        return printable(super().__str__())

    def facts(self) -> dict[str, Any]:
        """Return the error as plain data for programs: names and texts, with None for what is not known.

        Examples
        --------
        >>> import purtensor as pt
        >>> try:
        ...     pt.tabulate({"sex": ["f", "m"]}, "gender")
        ... except pt.PurtensorError as error:
        ...     told = error.facts()
        >>> told["error"], told["code"], told["got"], told["expected"]
        ('UnknownAttributeError', 'unknown-attribute', 'gender', ['sex'])
        """
        message = str(self)
        hint = self.hint or (message.rpartition("; ")[2] if "; " in message else None)  # messages end with it
        where = self.where if self.where is not None else getattr(self, "filename", None)
        return {
            "error": type(self).__name__,
            "code": self.code,
            "message": message,
            "where": where if where is None else str(where),
            "expected": _plain(self.expected),
            "got": _plain(self.got),
            "hint": hint,
        }


def _plain(fact: object) -> Any:
    """Return a fact as what JSON has: numbers, text, lists of these; anything else as it is written."""
    if fact is None or isinstance(fact, str | bool | int | float):
        return fact
    if isinstance(fact, Iterable):
        return [_plain(item) for item in fact]
    return str(fact)


class PurtensorWarning(UserWarning):
    """Base class of every warning that purtensor gives; its text holds no control characters."""

    def __str__(self) -> str:
        return printable(super().__str__())


class NotConvergedWarning(PurtensorWarning):
    """A projection whose constraints are not met, where the caller asked for a warning."""


class UndefinedRatioWarning(PurtensorWarning):
    """A ratio with nothing to compare to: its denominator is 0, and the ratio is NaN."""


class UnfairDecisionsWarning(PurtensorWarning):
    """Decisions that do not keep the parity of the probabilities that they are taken from."""


class SuspiciousColumnWarning(PurtensorWarning):
    """A column that nobody named, and that is hardly the attribute it is taken for: a weight, an identifier, ages."""


_MOST_NAMES = 30


def _spelt(label: Hashable) -> str:
    """Return a label as Python spells numbers and text, anything else in quotes."""
    plain = label.item() if hasattr(label, "item") else label  # of numpy's numbers
    return repr(plain) if isinstance(plain, str | int | float) else repr(str(plain))


class _KeyedError(PurtensorError, KeyError):
    def __str__(self) -> str:  # KeyError would print the repr of the message
        return printable(str(self.args[0])) if self.args else ""


class UnknownAttributeError(_KeyedError):
    """An attribute that the table does not have."""

    @classmethod
    def among(cls, name: Hashable, attributes: Iterable[Hashable], where: str = "this table") -> UnknownAttributeError:
        """Return the error for `name`, which `where` with these `attributes` lacks."""
        known = list(attributes)
        names = ", ".join(map(str, known[:_MOST_NAMES])) + ", ..." * (len(known) > _MOST_NAMES)
        hint = near_name(name, known)
        return cls(
            f"no attribute {name!r}; {where} has {names or 'none'}{f'; {hint}' if hint else ''}",
            where=where,
            expected=known,
            got=name,
            hint=hint,
        )


class UnknownCategoryError(_KeyedError):
    """A category that the attribute does not have."""

    @classmethod
    def with_mass(
        cls, label: Hashable, attribute: Hashable, categories: Iterable[Hashable], *, of: str, lacks: str
    ) -> UnknownCategoryError:
        """Return the error for a `label` that has mass in one table, and that the other one, with these, lacks."""
        known = list(categories)
        hint = near_name(label, known)
        names = ", ".join(map(_spelt, known[:_MOST_NAMES])) + ", ..." * (len(known) > _MOST_NAMES)
        return cls(
            f"{of} has mass in {attribute}={_spelt(label)}, a category that {lacks} does not have (it has {names}); "
            f"labels are compared with their types, and a category that must be empty is listed with target 0"
            f"{f'; {hint}' if hint else ''}",
            where=str(attribute),
            expected=known,
            got=label,
            hint=hint,
        )

    @classmethod
    def among(
        cls, label: Hashable, attribute: Hashable, categories: Iterable[Hashable], told: str = ""
    ) -> UnknownCategoryError:
        """Return the error for a `label` that an attribute with these categories lacks, and what else is told of it."""
        known = list(categories)
        hint = near_name(label, known)
        names = ", ".join(map(repr, known[:_MOST_NAMES])) + ", ..." * (len(known) > _MOST_NAMES)
        return cls(
            f"no category {label!r} in attribute {attribute!r}{f', {told}' if told else ''}; it has {names}"
            f"{f'; {hint}' if hint else ''}",
            where=str(attribute),
            expected=known,
            got=label,
            hint=hint,
        )


class InvalidTableError(PurtensorError, ValueError):
    """A table that is no distribution: negative, not finite, empty, with repeated profiles, or of the wrong form."""


class InvalidOptionError(PurtensorError, ValueError):
    """An option with a value that it cannot have."""

    @classmethod
    def among(cls, what: str, value: object, known: Iterable[Hashable], told: str = "") -> InvalidOptionError:
        """Return the error for a `value` that is none of the words `known`; `told` is the sentence, made unless given.

        Examples
        --------
        >>> print(InvalidOptionError.among("solver", "newtn", ["ipf", "newton"]))
        no solver 'newtn'; there are ipf, newton; did you mean 'newton'?
        """
        words = list(known)
        hint = near_name(value, words) if isinstance(value, str) else None
        sentence = told or f"no {what} {value!r}; there are {', '.join(map(str, words))}"
        return cls(f"{sentence}{f'; {hint}' if hint else ''}", where=what, expected=words, got=value, hint=hint)


class InconsistentTargetsError(PurtensorError, ValueError):
    """Constraints that disagree on the total or on a marginal that they share."""


class InfeasibleError(PurtensorError, ValueError):
    """No distribution on the support of the reference meets the constraints.

    Attributes
    ----------
    diagnosis
        The proof, in the data's own labels, where one was computed.
    """

    def __init__(self, message: str, diagnosis: Any = None, **facts: object) -> None:
        super().__init__(message, **facts)
        self.diagnosis = diagnosis

    @property
    def reason(self) -> str:
        """The message without what to do."""
        return str(self).removesuffix(self.hint or "").rstrip("\n; ")


class NotConvergedError(PurtensorError, RuntimeError):
    """The solver ended before the constraints were met.

    Attributes
    ----------
    projection
        The state so far, with its residual: a Projection with trace and potentials, or a Relaxation.
    """

    def __init__(self, message: str, projection: Projection | Relaxation | None = None, **facts: object) -> None:
        super().__init__(message, **facts)
        self.projection = projection

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it, or a callback that returned True."""
        return getattr(getattr(self.projection, "termination", None), "name", "") == "INTERRUPTED"


class TooLargeError(PurtensorError, MemoryError):
    """A request for more memory than there is, refused before anything is allocated.

    Attributes
    ----------
    bytes_needed, bytes_available
        What was asked for and what this process can still get.
    """

    def __init__(self, message: str, bytes_needed: int, bytes_available: int, **facts: object) -> None:
        super().__init__(message, **{"expected": bytes_available, "got": bytes_needed, **facts})
        self.bytes_needed = bytes_needed
        self.bytes_available = bytes_available

    def __reduce__(self) -> tuple[Any, ...]:  # between processes all three are needed
        return type(self), (str(self), self.bytes_needed, self.bytes_available), self.__dict__


class FileFormatError(PurtensorError, ValueError):
    """A file that is damaged or that does not hold what was expected."""


class StoreError(PurtensorError, OSError):
    """A store on disk that is full, damaged, or lacks a part; what was complete before is still there."""


class UnreadableFileError(PurtensorError, OSError):
    """A file that is not there, is none, or may not be opened: told by path, with what was looked for.

    Attributes
    ----------
    filename
        The path as it was given.
    """

    def __str__(self) -> str:  # OSError would put the number of the error and the path around the message
        return str(self.args[0]) if self.args else ""


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that is not there, or that a link points to in vain."""


class NotAFileError(UnreadableFileError, IsADirectoryError):
    """A folder where a file was asked for."""


class ForbiddenFileError(UnreadableFileError, PermissionError):
    """A file that may not be opened."""


class MissingStoreError(StoreError, MissingFileError):
    """A store on disk that is not there at all."""


class NoSlabsError(PurtensorError, ValueError):
    """Constraints that no slab key splits into parts: such a problem is solved in memory only."""
