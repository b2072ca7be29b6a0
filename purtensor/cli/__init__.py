"""The command line: parse, call, print."""

from purtensor.cli.main import main as main
