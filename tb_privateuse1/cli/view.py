"""``view``: print a view's result."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, add_step, chosen, described, flag
from tb_privateuse1.cli.selection import add_selection, add_selection_options, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule
    from tb_privateuse1.cli.commands import Commands, Parser


def add(commands: Commands) -> None:
    """Add the command."""
    view = add_command(commands, "view", _view, COMMANDS["view"], "kernels ./log --group name")
    view.set_defaults(path=None)
    view.add_argument("--list", action="store_true", help="list the views")
    add_step(view)
    add_selection_options(view)
    _add_base(view)
    _add_forms(view, tables=True)
    names = view.add_subparsers(metavar="NAME", dest="name", prog=view.prog)
    for name, about in described().items():
        if about["kind"] != "event":
            # An option before NAME is the default; the same option behind NAME overrides it.
            one = add_command(
                names,
                name,
                _view,
                about["about"],
                _example(about),
                argument_default=argparse.SUPPRESS,
            )
            add_flags(one, name)
            add_selection(one)
            if about["base"]:
                _add_base(one)
            _add_forms(one, tables=about["kind"] == "view")


def _example(about: Mapping[str, Any]) -> str:
    path = "./new --base ./old" if about["base"] else "./log"
    for option in about["options"]:
        if option["choices"]:
            return f"{path} {flag(option['name'])} {option['choices'][-1]}"
    return path


def _add_base(view: Parser) -> None:
    view.add_argument("--base", metavar="PATH", help="where the trace to compare with is")
    add_selection_options(view, "base-")


def _add_forms(view: Parser, *, tables: bool) -> None:
    view.add_argument("--option", action="append", metavar="K=V", help="deprecated: use --K V")
    add_vendor(view)
    form = view.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    if tables:
        form.add_argument("--csv", action="store_true", help="a table of the result")
        help = "which one, as CSV; else the view's main one"
        view.add_argument("--table", metavar="NAME", help=help)
    view.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _load_rules() -> Sequence[Rule]:
    from tb_privateuse1.advice import user_rules  # which few views read

    return user_rules.from_environment().load()


def _view(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery import catalog as discovery_catalog
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request, Selection, view_named

    if options.list:
        return _list(options)
    if options.name is None or options.path is None:
        raise UsageError("view needs NAME and PATH, or --list")
    if options.table is not None and not options.csv:
        raise UsageError("--table is for --csv: the other forms have all tables")
    view = view_named(options.name)
    pairs = dict(_pair(option) for option in options.option or ())
    asked = chosen(options, view, pairs)
    if pairs:
        flags = " ".join(f"{flag(key)} …" for key in pairs)
        note = f"--option is deprecated and goes with the next release: use {flags}"
        print(f"tb-privateuse1: {note}", file=sys.stderr)
    here, there = selected(options), selected(options, "base_")
    if options.base is None and there == Selection():
        there = here
    with opened(options) as (store, catalog):
        base = (
            discovery_catalog.scan(options.base, READERS) if options.base is not None else catalog
        )
        reader = Reader(store, catalog, _load_rules, base_catalog=base)
        result = reader.run(Request(view, here, there, asked))
    if options.json:
        body = encode(result)
    elif options.csv:
        from tb_privateuse1.export.reports import csv

        body = csv.csv_table(result, options.table).encode()
    else:
        from tb_privateuse1.export.reports import text

        terminal = options.output is None and sys.stdout.isatty()
        body = text.text_report(
            result, shutil.get_terminal_size().columns if terminal else None
        ).encode()
    write(body, options.output)
    return 0


def _list(options: argparse.Namespace) -> int:
    from tb_privateuse1.views import VIEWS
    from tb_privateuse1.views.encoding import encode

    if options.json:
        write(encode(list(VIEWS)))
        return 0
    for name, view in VIEWS.items():
        print(f"{name:12} {(view.__doc__ or '').splitlines()[0]}")
    return 0


def _pair(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        raise UsageError(f"--option {option}: it must be K=V")
    return key, value
