"""``export``: write a trace, or an interval of it, in another format."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor
from tb_privateuse1.cli.selection import add_selection, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.export.time_window import Window

_OF_RECORDINGS = "openmetrics"
"""Its figures are those of all recordings below PATH."""

_FORMATS = ("chrome", "perfetto", "stacks", "parquet", "csv", _OF_RECORDINGS)


def add(commands: Commands) -> None:
    """Add the command."""
    export = add_command(
        commands,
        "export",
        _export,
        COMMANDS["export"],
        "./log --format perfetto -o trace.perfetto-trace.gz",
    )
    add_selection(export)
    export.add_argument("--format", choices=_FORMATS, required=True)
    export.add_argument(
        "--range",
        metavar="START_NS:END_NS",
        help="what of the trace, in ns since its start; either may be left out",
    )
    add_vendor(export)
    export.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="a file, gzipped if it ends in .gz; for Parquet and CSV a directory or a .zip",
    )


def _export(options: argparse.Namespace) -> int:
    from tb_privateuse1.export import formats

    if options.path is None:
        raise UsageError("export needs PATH")
    if options.format == _OF_RECORDINGS:
        return _export_metrics(options)
    window = _window(options.range)
    with opened(options) as (store, catalog):
        files = catalog.find(options.run, options.rank, options.span)
        trace = store.trace(files)
        formats.save(options.format, options.output, trace, files, window)
    count = len(window.rows(trace, trace.kernels))
    print(f"{options.output}: {count} device activities, {trace.meta.timeline}")
    return 0


def _export_metrics(options: argparse.Namespace) -> int:
    """Write the figures of the latest recording of each rank, or of the selected ones."""
    from tb_privateuse1.export import openmetrics
    from tb_privateuse1.views.history import history
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request

    if options.range is not None:
        raise UsageError("--range is of one trace; openmetrics has whole recordings")
    with opened(options) as (store, catalog):
        catalog.find(options.run)
        found = Reader(store, catalog).run(Request(history, options={"ranks": "all"}))
    rows = [
        row
        for row in found.rows
        if options.run in (None, row.run)
        and options.rank in (None, row.rank)
        and options.span in (None, row.span)
    ]
    text = openmetrics.write(rows, waiting=found.waiting)
    openmetrics.save(options.output, text)
    failed = sum(row.state == "failed" for row in rows)
    print(f"{options.output}: {len(rows) - failed} recordings, {failed} that cannot be read")
    return 1 if failed else 0


def _window(text: str | None) -> Window:
    from tb_privateuse1.export.time_window import Window

    if text is None:
        return Window()
    match = re.fullmatch(r"(\d{0,18}):(\d{0,18})", text, re.ASCII)
    if match is None:
        raise UsageError(f"--range {text}: it must be START_NS:END_NS, such as 1000000:2000000")
    start, end = (int(part) if part else None for part in match.groups())
    return Window(start, end)
