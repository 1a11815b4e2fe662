"""``advice``: print a trace's findings, for people and for CI."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, add_vendor, write
from tb_privateuse1.cli.flags import add_flags, chosen
from tb_privateuse1.cli.selection import add_selection, opened, selected

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

_SEVERITIES = ("high", "medium", "low", "note")


def add(commands: Commands) -> None:
    """Add the command."""
    advice = add_command(
        commands,
        "advice",
        _advice,
        COMMANDS["advice"],
        "./log --fail-on high",
    )
    add_selection(advice)
    add_flags(advice, "advice")
    advice.add_argument("--ranks", action="store_true", help="of all ranks of the run together")
    add_vendor(advice)
    form = advice.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--markdown", action="store_true", help="for a comment")
    form.add_argument("--sarif", action="store_true", help="for code scanning")
    advice.add_argument(
        "--fail-on",
        choices=_SEVERITIES,
        metavar="SEVERITY",
        help="exit code 1 if a finding is as severe: high, medium, low or note",
    )
    advice.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _advice(options: argparse.Namespace) -> int:
    from tb_privateuse1.advice import user_rules
    from tb_privateuse1.export.reports import advice as export
    from tb_privateuse1.views.advice import advice
    from tb_privateuse1.views.distributed import distributed
    from tb_privateuse1.views.encoding import encode
    from tb_privateuse1.views.reader import Reader
    from tb_privateuse1.views.request import Request

    if options.path is None:
        raise UsageError("advice needs PATH: a logdir, a run or one trace file")
    if options.ranks and (options.markdown or options.sarif):
        raise UsageError("--ranks has a text, or --json: findings of ranks have no lines.")
    view = distributed if options.ranks else advice
    asked = chosen(options, view)
    request = Request(view, selected(options), options=asked)
    rules = user_rules.from_environment()
    with opened(options) as (store, catalog):
        result = Reader(store, catalog, rules.load).run(request)
    rows = result.advice if options.ranks else result.rows
    if options.json:
        body = encode(result)
    elif options.ranks:
        body = export.rank_advice_text(result).encode()
    elif options.sarif:
        body = export.advice_sarif(result, rules.load()).encode()
    else:
        body = (export.advice_markdown if options.markdown else export.advice_text)(result).encode()
    write(body, options.output)
    limit = _SEVERITIES.index(options.fail_on) if options.fail_on else -1
    return int(any(_SEVERITIES.index(row.severity) <= limit for row in rows))
