"""``view``: print a view's result."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tb_privateuse1.cli.base import UsageError, add_vendor, write
from tb_privateuse1.cli.progress import Line, State

if TYPE_CHECKING:
    from tb_privateuse1.cli.base import Commands
    from tb_privateuse1.runs import Files
    from tb_privateuse1.store import Progress


def add(commands: Commands) -> None:
    """Its name and options."""
    view = commands.add_parser("view", help="print a view of a trace")
    view.set_defaults(command=_view)
    view.add_argument("name", metavar="NAME", nargs="?", help="overview, kernels, … (see --list)")
    view.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    view.add_argument("--list", action="store_true", help="list the views")
    view.add_argument("--run", help="its name; the first one by default")
    view.add_argument("--rank", type=int, metavar="N", help="the lowest one by default")
    view.add_argument("--span", type=int, metavar="S", help="the latest one by default")
    view.add_argument("--step", metavar="N", help="the N of ProfilerStep#N; all by default")
    view.add_argument("--option", action="append", default=[], metavar="K=V", help="of the view")
    add_vendor(view)
    form = view.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true", help="a table of the result")
    view.add_argument("--table", metavar="NAME", help="which one, as CSV; else the view's main one")
    view.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _view(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.export import csv, text

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
    with _trace(options) as trace:
        result = query.run(view, trace, chosen)
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


@contextlib.contextmanager
def _trace(options: argparse.Namespace) -> Iterator[Any]:
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
        yield Store(jobs=0, on_progress=report if sys.stderr.isatty() else None).trace(files)
