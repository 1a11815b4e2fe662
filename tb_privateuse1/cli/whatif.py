"""``whatif``: how long a step would take with changes, and what gains how much."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.base import UsageError, add_vendor, write
from tb_privateuse1.cli.selection import add_selection, opened, place

if TYPE_CHECKING:
    from tb_privateuse1.cli.base import Commands


def add(commands: Commands) -> None:
    """Its name and options."""
    whatif = commands.add_parser(
        "whatif", help="predict a step with operators, kernels or waits changed"
    )
    whatif.set_defaults(command=_whatif)
    add_selection(whatif)
    whatif.add_argument(
        "--scale", action="append", default=[], metavar="WHAT=FACTOR",
        help="aten::mm=0.5 (twice as fast), kernel:NAME=0 (free), module:NAME=…, category:gemm=…, "
        "communication=…, copies=…, data_loader=…, launches=…, synchronisation=0; may be repeated",
    )  # fmt: skip
    whatif.add_argument("--step", metavar="N", help="the N of ProfilerStep#N; all by default")
    whatif.add_argument("--no-ranking", action="store_true", help="without what gains how much")
    add_vendor(whatif)
    form = whatif.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true", help="a table of the result")
    whatif.add_argument("--table", metavar="NAME", help="as CSV: rows, steps, causes or path")
    whatif.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _whatif(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.export import csv, text
    from tb_privateuse1.reading import Reader
    from tb_privateuse1.views.whatif import whatif

    if options.path is None:
        raise UsageError("whatif needs PATH: a logdir, a run or one trace file")
    if options.table is not None and not options.csv:
        raise UsageError("--table is for --csv: the other forms have all tables")
    texts = {"changes": "\n".join(options.scale), "ranking": str(not options.no_ranking).lower()}
    if options.step is not None:
        texts["step"] = options.step
    asked = query.options(whatif, texts)
    here = place(options)
    with opened(options) as (store, catalog):
        result = Reader(store).run(whatif, catalog, here, here, asked)
    if options.json:
        body = query.encode(result)
    elif options.csv:
        body = csv.table(result, options.table).encode()
    else:
        terminal = options.output is None and sys.stdout.isatty()
        width = shutil.get_terminal_size().columns if terminal else None
        body = text.render(result, width).encode()
    write(body, options.output)
    return 0
