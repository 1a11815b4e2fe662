"""``sql``: ask a trace's tables in SQL."""

from __future__ import annotations

import argparse
import csv
import io
from typing import TYPE_CHECKING, Any

from tb_privateuse1.cli.commands import (
    COMMANDS,
    UsageError,
    add_command,
    add_vendor,
    positive,
    write,
)
from tb_privateuse1.cli.selection import add_selection_options, opened

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.export.sql import SqlResult

_WIDEST = 60


def add(commands: Commands) -> None:
    """Add the command."""
    sql = add_command(
        commands,
        "sql",
        _sql,
        COMMANDS["sql"],
        './log "select name, count(*) from ops group by name"',
    )
    sql.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    sql.add_argument(
        "query", metavar="QUERY", nargs="?", help='such as "select * from ops limit 5"'
    )
    add_selection_options(sql)
    sql.add_argument("--tables", action="store_true", help="list the tables and their columns")
    sql.add_argument(
        "--rows", type=positive, default=1_000_000, help="at most; 1,000,000 by default"
    )
    sql.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="seconds; 60 by default"
    )
    sql.add_argument("--memory", type=positive, default=2048, metavar="MB", help="2048 by default")
    add_vendor(sql)
    form = sql.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true")
    sql.add_argument("-o", "--output", metavar="FILE", help="instead of the standard output")


def _sql(options: argparse.Namespace) -> int:
    from tb_privateuse1.export import sql
    from tb_privateuse1.views.encoding import encode

    if options.tables:
        return _tables(options)
    if options.path is None or options.query is None:
        raise UsageError('sql needs PATH and QUERY, such as: sql ./log "from steps", or --tables')
    with opened(options) as (store, catalog):
        files = catalog.find(options.run, options.rank, options.span)
        store.trace(files)
        result = sql.query(
            files,
            options.query,
            store=store,
            rows=options.rows,
            seconds=options.timeout,
            memory_bytes=options.memory << 20,
        )
    if options.json:
        body = encode(result)
    else:
        body = (_csv(result) if options.csv else _text(result)).encode("utf-8", "replace")
    write(body, options.output)
    return 0


def _tables(options: argparse.Namespace) -> int:
    from tb_privateuse1.export.trace_tables import COLUMNS, schema

    lines = []
    for table, described in COLUMNS.items():
        kinds = schema(table)
        lines += ["", table]
        lines += [
            f"  {n:20} {kinds.field(n).type!s:8} {meaning}" for n, meaning in described.items()
        ]
    write(("\n".join(lines[1:]) + "\n").encode(), options.output)
    return 0


def _csv(result: SqlResult) -> str:
    from tb_privateuse1.export.formulas import quote_formula

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([quote_formula(column.name) for column in result.columns])
    writer.writerows([quote_formula(cell) for cell in row] for row in result.rows)
    return out.getvalue()


def _text(result: SqlResult) -> str:
    from tb_privateuse1.i18n.units import plain_text

    def cell(value: Any) -> str:
        text = "-" if value is None else plain_text(str(value))
        return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"

    heads = [plain_text(column.name) for column in result.columns]
    rows = [[cell(value) for value in row] for row in result.rows]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    numbers = [
        any(isinstance(row[i], int | float) for row in result.rows) for i in range(len(heads))
    ]
    lines = []
    for line in [heads, ["-" * width for width in widths], *rows]:
        padded = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, numbers, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    if result.cut:
        lines.append(f"… and more rows than these {len(rows):,}: see --rows")
    return "\n".join(lines) + "\n"
