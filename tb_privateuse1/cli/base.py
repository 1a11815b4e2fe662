"""What the commands share: bad use, vendor files, and where the result goes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tb_privateuse1.vendor_file import Vendors

    Commands = argparse._SubParsersAction["Parser"]


class UsageError(Exception):
    """Bad use, in words for the user."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        """Say where help is."""
        raise UsageError(f"{message} (see {self.prog} --help)")


def add_vendor(parser: argparse.ArgumentParser) -> None:
    """The option of every command that may read a trace."""
    parser.add_argument(
        "--vendor",
        action="append",
        metavar="FILE",
        help="describes an accelerator; for the server see docs/vendors.md",
    )


def vendors(options: argparse.Namespace) -> Vendors:
    """Read the vendor files that a command is given, or else those of the environment.

    Raises TraceError ``bad_vendor``.
    """
    from tb_privateuse1 import vendor_file

    return vendor_file.chosen(options.vendor)


def write(body: bytes, path: str | None = None) -> None:
    """Write a command's result as it is, to a file or the standard output.

    A terminal gets the end of a last line that has none.
    """
    if path is not None:
        try:
            Path(path).write_bytes(body)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}") from error
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    if sys.stdout.isatty() and not body.endswith(b"\n"):
        print()
