"""Commands and their options as data, from which the parser is built, and what commands end with."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

DONE, BAD_INPUT, INFEASIBLE, NOT_CONVERGED, TOO_LARGE, INTERRUPTED = 0, 2, 3, 4, 5, 130
EXIT_CODES = """\
exit codes: 0 success, 2 wrong usage or invalid input, 3 infeasible, 4 not converged, 5 too large, 130 interrupted"""


# the name of an option or of a positional argument, and the settings that `add_argument` takes
Option: TypeAlias = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Command:
    """A command.

    Attributes
    ----------
    runs
        The module of `purtensor.cli` and its function that runs the command: imported only then, so that help is quick.
    help, description, epilog
        What `--help` prints: of all commands, of this one, and below its options.
    options
        Its arguments and the options without a group.
    groups
        Its other options, by the heading of the group.
    defaults
        Values that its module reads, and that cannot be typed.
    """

    name: str
    runs: str
    help: str
    description: str
    options: Sequence[Option] = ()
    groups: Mapping[str, Sequence[Option]] = field(default_factory=dict)
    epilog: str | None = EXIT_CODES
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def add_to(self, commands: Any) -> None:
        """Add the command to the commands of a parser."""
        parser = commands.add_parser(self.name, help=self.help, description=self.description, epilog=self.epilog)
        _add_options(parser, self.options)
        for heading, options in self.groups.items():
            _add_options(parser.add_argument_group(heading), options)
        parser.set_defaults(runs=self.runs, **self.defaults)
        # they may stand before or after the command
        for name, meaning in (("--json", "print one JSON object"), ("--quiet", "print errors only")):
            parser.add_argument(name, action="store_true", default=argparse.SUPPRESS, help=meaning)


def option(name: str, meaning: str, **settings: Any) -> Option:
    """Return an option with the text that `--help` prints."""
    return name, {"help": meaning, **settings}


def _add_options(group: Any, options: Sequence[Option]) -> None:
    for name, settings in options:
        group.add_argument(name, **settings)
