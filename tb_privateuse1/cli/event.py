"""``event``: print one event with all that its file has of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.base import UsageError, add_vendor, write
from tb_privateuse1.cli.selection import add_selection, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.base import Commands


def add(commands: Commands) -> None:
    """Its name and options."""
    event = commands.add_parser("event", help="print one event with all that the file has of it")
    event.set_defaults(command=_event)
    add_selection(event)
    event.add_argument("--table", required=True, help="ops, frames, launches, kernels or memory")
    event.add_argument("--row", required=True, metavar="N", help="as in the findings' examples")
    add_vendor(event)
    event.add_argument("--json", action="store_true", help="exactly as over HTTP")


def _event(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.export import text

    if options.path is None:
        raise UsageError("event needs PATH")
    with opened(options) as (store, catalog):
        files = catalog.find(options.run, options.rank, options.span)
        result = query.event(store, files, {"table": options.table, "row": options.row})
    write(query.encode(result) if options.json else text.render(result).encode())
    return 0
