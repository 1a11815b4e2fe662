"""What the commands share: bad use, and JSON on the standard output."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction["Parser"]


class UsageError(Exception):
    """Bad use, in words for the user."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Say where help is."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def write_json(body: bytes) -> None:
    """Write JSON as it is; a terminal gets the end of the line."""
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    if sys.stdout.isatty():
        print()
