"""``report``: write a trace, or the change between two, as one file to pass on."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.selection import add_selection_options, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.discovery.catalog import Catalog
    from tb_privateuse1.export.reports.html.contents import Report
    from tb_privateuse1.views.reader import Reader

_LANGUAGES = ("en", "zh")


def add(commands: Commands) -> None:
    """Add the command."""
    report = add_command(
        commands,
        "report",
        _report,
        COMMANDS["report"],
        "./log -o report.html",
    )
    report.add_argument("path", metavar="PATH", help="a logdir, a run or one trace file")
    report.add_argument(
        "new", metavar="NEW", nargs="?", help="reports the change from PATH to this one"
    )
    add_selection_options(report)
    add_selection_options(report, "base-")
    add_vendor(report)
    report.add_argument(
        "--markdown", action="store_true", help="for a comment; also if FILE ends in .md"
    )
    report.add_argument(
        "--language", choices=_LANGUAGES, default=_LANGUAGES[0], help="of HTML (default: en)"
    )
    report.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _report(options: argparse.Namespace) -> int:
    from tb_privateuse1.advice import user_rules
    from tb_privateuse1.discovery import catalog as discovery_catalog
    from tb_privateuse1.export.reports import summary
    from tb_privateuse1.export.reports.html import document
    from tb_privateuse1.readers import READERS
    from tb_privateuse1.views.reader import Reader

    is_markdown = options.markdown or (options.output or "").lower().endswith(".md")
    if options.output is None and not is_markdown and sys.stdout.isatty():
        raise UsageError("report writes HTML: give its file, such as -o report.html")
    _check_places(options)
    if not is_markdown:
        document.require_bundle()
    rules = user_rules.from_environment()
    base = discovery_catalog.scan(options.path, READERS)
    options.path = options.new or options.path
    with opened(options) as (store, catalog):
        reader = Reader(store, catalog, rules.load, base_catalog=base)
        found = _found(options, reader, catalog, base)
        body = (
            summary.markdown(found).encode()
            if is_markdown
            else document.document(reader, found, options.language)
        )
    write(body, options.output)
    if options.output is not None:
        print(f"{options.output}: {len(body):,} bytes")
    return 0


def _found(options: argparse.Namespace, reader: Reader, catalog: Catalog, base: Catalog) -> Report:
    from tb_privateuse1.export.reports.html import contents

    if options.new is None:
        return contents.trace_report(reader, catalog, selected(options), options.again)
    there = selected(options, "base_")
    return contents.diff_report(reader, catalog, selected(options), base, there, options.again)


def _check_places(options: argparse.Namespace) -> None:
    """Refuse a place in a baseline that is not there, and keep the command for the report."""
    given = {
        f"--{name.replace('_', '-')}": str(value)
        for name in ("run", "rank", "span", "base_run", "base_rank", "base_span")
        if (value := getattr(options, name)) is not None
    }
    if options.new is None and (wrong := [flag for flag in given if "base" in flag]):
        raise UsageError(f"{wrong[0]} is for a change: report PATH NEW")
    paths = [options.path, *([options.new] if options.new is not None else [])]
    flags = [text for pair in given.items() for text in pair]
    options.again = shlex.join(["tb-privateuse1", "report", *paths, *flags])
