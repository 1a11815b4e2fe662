"""Select and open the trace of a command."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import vendors
from tb_privateuse1.cli.completion import places
from tb_privateuse1.cli.progress import Line, State

if TYPE_CHECKING:
    from tb_privateuse1.discovery.catalog import Catalog
    from tb_privateuse1.discovery.trace_files import TraceFiles
    from tb_privateuse1.storage.jobs import Progress
    from tb_privateuse1.storage.store import Store
    from tb_privateuse1.views.request import Selection


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a trace below a path."""
    parser.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    add_selection_options(parser)


def add_selection_options(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add the options that select a trace of a catalog; ``of`` goes before their names."""
    for name, kind, metavar, what in (
        ("run", str, "RUN", "its name; the first one by default"),
        ("rank", int, "N", "the lowest one by default"),
        ("span", int, "S", "the latest one by default"),
    ):
        added = parser.add_argument(f"--{of}{name}", type=kind, metavar=metavar, help=what)
        added.completer = places(name, of)  # type: ignore[attr-defined]


def selected(options: argparse.Namespace, of: str = "") -> Selection:
    """Return the selection by the options of ``add_selection_options``."""
    from tb_privateuse1.views.request import Selection

    return Selection(*(getattr(options, f"{of}{name}") for name in ("run", "rank", "span")))


@contextlib.contextmanager
def opened(options: argparse.Namespace) -> Iterator[tuple[Store, Catalog]]:
    """Yield a store and the catalog of a path; a terminal shows the progress of reading."""
    from tb_privateuse1.discovery import catalog as discovery_catalog
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.storage.store import Store
    from tb_privateuse1.views import user_models

    user_models.use_from_environment()
    known = vendors(options)  # errors in a vendor file come before any reading
    catalog = discovery_catalog.scan(options.path, READERS)
    began_s = time.monotonic()
    with Line(sys.stderr).open() as line:

        def report(_: TraceFiles, progress: Progress) -> None:
            done, total = progress.bytes_done, progress.bytes_total
            elapsed_s = time.monotonic() - began_s
            line.show(State(progress.phase, done, total, progress.events, elapsed_s))

        # A log gets the result only.
        on_progress = report if sys.stderr.isatty() else None
        yield Store(jobs=0, on_progress=on_progress, vendors=known), catalog
