"""``view``: print a view's result."""

from __future__ import annotations

import argparse
import shutil
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.base import UsageError, add_vendor, write
from tb_privateuse1.cli.selection import add_place, add_selection, opened, place

if TYPE_CHECKING:
    from tb_privateuse1.cli.base import Commands


def add(commands: Commands) -> None:
    """Its name and options."""
    view = commands.add_parser("view", help="print a view of a trace")
    view.set_defaults(command=_view)
    view.add_argument("name", metavar="NAME", nargs="?", help="overview, kernels, … (see --list)")
    add_selection(view)
    view.add_argument("--list", action="store_true", help="list the views")
    view.add_argument("--step", metavar="N", help="the N of ProfilerStep#N; all by default")
    view.add_argument("--option", action="append", default=[], metavar="K=V", help="of the view")
    view.add_argument("--base", metavar="PATH", help="where the trace to compare with is")
    add_place(view, "base-")
    add_vendor(view)
    form = view.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true", help="a table of the result")
    view.add_argument("--table", metavar="NAME", help="which one, as CSV; else the view's main one")
    view.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _view(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query, rule_file, runs
    from tb_privateuse1.export import csv, text
    from tb_privateuse1.reading import Place, Reader

    if options.list:
        return _list(options)
    if options.name is None or options.path is None:
        raise UsageError("view needs NAME and PATH, or --list")
    if options.table is not None and not options.csv:
        raise UsageError("--table is for --csv: the other forms have all tables")
    view = query.view_named(options.name)
    asked = dict(_pair(option) for option in options.option)
    if options.step is not None:
        asked["step"] = options.step
    chosen = query.options(view, asked)
    here, there = place(options), place(options, "base_")
    if options.base is None and there == Place():
        there = here
    rules = rule_file.from_environment()
    with opened(options) as (store, catalog):
        base = runs.scan(options.base) if options.base is not None else catalog
        result = Reader(store, rules.load).run(
            view, catalog, here, there, chosen, base_catalog=base
        )
    if options.json:
        body = query.encode(result)
    elif options.csv:
        body = csv.table(result, options.table).encode()
    else:
        terminal = options.output is None and sys.stdout.isatty()
        body = text.render(
            result, shutil.get_terminal_size().columns if terminal else None
        ).encode()
    write(body, options.output)
    return 0


def _list(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.views import VIEWS

    if options.json:
        write(query.encode(list(VIEWS)))
        return 0
    for name, view in VIEWS.items():
        print(f"{name:12} {(view.__doc__ or '').splitlines()[0]}")
    return 0


def _pair(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        raise UsageError(f"--option {option}: it must be K=V")
    return key, value
