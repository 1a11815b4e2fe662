"""The trace that a command is about: its options, and opening it."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_privateuse1.cli.progress import Line, State

if TYPE_CHECKING:
    from tb_privateuse1.runs import Files
    from tb_privateuse1.store import Progress, Store


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Which trace below a path."""
    parser.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    parser.add_argument("--run", help="its name; the first one by default")
    parser.add_argument("--rank", type=int, metavar="N", help="the lowest one by default")
    parser.add_argument("--span", type=int, metavar="S", help="the latest one by default")


@contextlib.contextmanager
def opened(options: argparse.Namespace) -> Iterator[tuple[Store, Files]]:
    """The chosen trace and what reads it; a terminal is told how far that is."""
    from tb_privateuse1 import runs
    from tb_privateuse1.store import Store

    files = runs.scan(options.path).find(options.run, options.rank, options.span)
    began_s = time.monotonic()
    with Line(sys.stderr).open() as line:

        def report(_: Files, progress: Progress) -> None:
            done, total = progress.bytes_done, progress.bytes_total
            elapsed_s = time.monotonic() - began_s
            line.show(State(progress.phase, done, total, progress.events, elapsed_s))

        # A log is told of the result only.
        yield Store(jobs=0, on_progress=report if sys.stderr.isatty() else None), files
