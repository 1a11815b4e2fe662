"""``scalars``: write the figures of all recordings as TensorBoard scalars, beside the loss."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor
from tb_privateuse1.cli.selection import opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.views.history import HistoryRow

TAGS = {
    "profiler/step_ms": ("step_ns", 1e-6),
    "profiler/utilization": ("utilization", 1.0),
    "profiler/mfu": ("mfu", 1.0),
    "profiler/memory_peak_bytes": ("memory_peak_bytes", 1.0),
    "profiler/largest_saving_share": ("saving_share", 1.0),
}
"""By tag, the figure of the view ``history`` and the factor to the tag's unit."""

_SUFFIX = ".tb_privateuse1"
"""Ends the names of our event files, so that the next call replaces them and nothing else."""


def add(commands: Commands) -> None:
    """Add the command."""
    scalars = add_command(commands, "scalars", _scalars, COMMANDS["scalars"], "./log")
    scalars.add_argument("path", metavar="PATH", help="a logdir, a run or one trace file")
    scalars.add_argument(
        "-o", "--output", metavar="DIR", help="a folder per run in DIR, not in the runs' own"
    )
    add_vendor(scalars)


def _scalars(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery.remote import is_url
    from tb_privateuse1.views.history import history
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request

    if options.output is None and is_url(options.path):
        raise UsageError("a remote logdir is only read: name a folder with --output DIR")
    with opened(options) as (store, catalog):
        catalog.find()  # no traces at all is an error
        rows = Reader(store, catalog).run(Request(history)).rows
    files = catalog.files
    written = failed = 0
    for run in dict.fromkeys(row.run for row in rows):
        of_run = [row for row in rows if row.run == run]
        for row in of_run:
            if row.problem is not None:
                failed += 1
                print(f"tb-privateuse1: run {run}, span {row.span}: {row.problem}", file=sys.stderr)
        own = Path(files[run, of_run[0].rank, of_run[0].span].trace.path).parent
        folder = own if options.output is None else Path(options.output, run)
        try:
            written += _write(folder, of_run)
        except OSError as error:
            hint = "name a folder with --output DIR"
            raise UsageError(f"{folder} cannot be written ({error.strerror}): {hint}") from error
    print(f"{written} scalars of {len(rows) - failed} recordings")
    return 1 if failed else 0


def _write(folder: Path, rows: Iterable[HistoryRow]) -> int:
    """Replace our event file in a folder; return how many values are in it."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    for old in folder.glob(f"events.out.tfevents.*{_SUFFIX}"):
        old.unlink()
    events = []
    for row in rows:
        values = [
            Summary.Value(tag=tag, simple_value=getattr(row, figure) * factor)
            for tag, (figure, factor) in TAGS.items()
            if getattr(row, figure) is not None
        ]
        step = row.span if row.first_step is None else row.first_step
        time_s = (row.written_ns or 0) / 1e9
        if values:
            events.append(Event(wall_time=time_s, step=step, summary=Summary(value=values)))
    if events:
        writer = EventFileWriter(str(folder), filename_suffix=_SUFFIX)
        for event in events:
            writer.add_event(event)
        writer.close()
    return sum(len(event.summary.value) for event in events)
