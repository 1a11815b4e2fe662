"""``whatif``: predict a step's duration with changes, and rank possible gains."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, chosen
from tb_privateuse1.cli.selection import add_selection, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    whatif = add_command(
        commands,
        "whatif",
        _whatif,
        COMMANDS["whatif"],
        "./log --scale aten::mm=0.5",
    )
    add_selection(whatif)
    whatif.add_argument(
        "--scale", action="append", default=[], metavar="WHAT=FACTOR",
        help="aten::mm=0.5 (twice as fast), kernel:NAME=0 (free), module:NAME=…, function:NAME=… "
        "(of Python), call:NAME=… (of the runtime), category:gemm=…, class:python=… (a class of "
        "the account), finding:NAME=0 (the fix of a finding), communication=…, copies=…, "
        "data_loader=…, launches=…, synchronization=0, rank_waits=0 (waits for other ranks), "
        "profiler=0, stacks=0 (recorded without them); may be repeated",
    )  # fmt: skip
    add_flags(whatif, "whatif", without="changes")
    add_vendor(whatif)
    form = whatif.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true", help="a table of the result")
    whatif.add_argument("--table", metavar="NAME", help="as CSV: rows, steps, classes or path")
    whatif.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _whatif(options: argparse.Namespace) -> int:
    from tb_privateuse1.advice import user_rules
    from tb_privateuse1.export.reports import csv, text
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request
    from tb_privateuse1.views.whatif import whatif

    if options.path is None:
        raise UsageError("whatif needs PATH: a logdir, a run or one trace file")
    if options.table is not None and not options.csv:
        raise UsageError("--table is for --csv: the other forms have all tables")
    asked = chosen(options, whatif, {"changes": "\n".join(options.scale)})
    request = Request(whatif, selected(options), options=asked)
    with opened(options) as (store, catalog):
        result = Reader(store, catalog, user_rules.from_environment().load).run(request)
    if options.json:
        body = encode(result)
    elif options.csv:
        body = csv.csv_table(result, options.table).encode()
    else:
        terminal = options.output is None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else None
        body = text.text_report(result, width).encode()
    write(body, options.output)
    return 0
