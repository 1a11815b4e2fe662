"""``event``: print one event with its full record in the file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, given
from tb_privateuse1.cli.selection import add_selection, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    event = add_command(
        commands,
        "event",
        _event,
        COMMANDS["event"],
        "./log --table kernels --row 5",
    )
    add_selection(event)
    add_flags(event, "event")
    add_vendor(event)
    event.add_argument("--json", action="store_true", help="exactly as over HTTP")


def _event(options: argparse.Namespace) -> int:
    from tb_privateuse1.export.reports import text
    from tb_privateuse1.storage.event_record import read_record
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request, parse_options

    if options.path is None:
        raise UsageError("event needs PATH")
    with opened(options) as (store, catalog):
        asked = parse_options(read_record, given(options))
        request = Request(read_record, selected(options), options=asked)
        result = Reader(store, catalog).run(request)
    write(encode(result) if options.json else text.text_report(result).encode())
    return 0
