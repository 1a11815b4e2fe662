"""``event``: print one event with all that its file has of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.base import UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, given
from tb_privateuse1.cli.selection import add_selection, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.base import Commands


def add(commands: Commands) -> None:
    """Its name and options."""
    event = add_command(
        commands,
        "event",
        _event,
        "print one event with all that the file has of it",
        "./log --table kernels --row 5",
    )
    add_selection(event)
    add_flags(event, "event")
    add_vendor(event)
    event.add_argument("--json", action="store_true", help="exactly as over HTTP")


def _event(options: argparse.Namespace) -> int:
    from tb_privateuse1.export.reports import text
    from tb_privateuse1.views import query

    if options.path is None:
        raise UsageError("event needs PATH")
    with opened(options) as (store, catalog):
        files = catalog.find(options.run, options.rank, options.span)
        result = query.run_event(store, files, given(options))
    write(query.encode(result) if options.json else text.text_report(result).encode())
    return 0
