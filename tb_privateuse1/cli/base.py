"""What the commands share: bad use, vendor files, and where the result goes."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
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


def add_vendor(parser: argparse.ArgumentParser) -> None:
    """The option of every command that may read a trace."""
    parser.add_argument(
        "--vendor",
        action="append",
        metavar="FILE",
        help="describes an accelerator; for the server see docs/reference/vendors.md",
    )


@contextlib.contextmanager
def vendor_files(paths: Sequence[str] | None) -> Iterator[None]:
    """Use these vendor files, also in the processes that read. Raises TraceError ``bad_vendor``."""
    if not paths:
        yield
        return
    from tb_privateuse1 import vendor_file

    before = os.environ.get(vendor_file.VARIABLE)
    os.environ[vendor_file.VARIABLE] = os.pathsep.join(map(os.path.abspath, paths))
    try:
        vendor_file.known()  # what is wrong with one is said before anything is read
        yield
    finally:
        del os.environ[vendor_file.VARIABLE]
        if before is not None:
            os.environ[vendor_file.VARIABLE] = before


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
