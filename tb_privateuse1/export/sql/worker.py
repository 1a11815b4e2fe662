"""Child process for one SQL query over a trace's tables.

DuckDB has no access to files, no extensions and no settings that a query could change, and it runs
one reading statement only. That does not bound a query: some functions ignore the memory limit and
interruption. So the process has its own limits, and its parent kills it.

It reads a request as one line of JSON. It answers with two lines: the trace is loaded; the result.
"""

from __future__ import annotations

import decimal
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import trace_tables
from tb_privateuse1.i18n import say
from tb_privateuse1.storage import memory_limit
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors import user_file

MOST_BYTES = 32 << 20
"""The most bytes of a result; further rows are cut off."""
_LONGEST = 1 << 16
"""The most characters of a cell."""
_TOGETHER = 1024
_SPARE = 1.5
"""Factor for memory that DuckDB allocates but does not count."""


class SqlRequest(msgspec.Struct):
    """A query; ``memory_bytes`` bounds its allocations, ``rows`` its result."""

    files: TraceFiles
    cache_dir: str | None
    vendors: tuple[user_file.File, ...]
    query: str
    rows: int
    memory_bytes: int


# At import: msgspec crashes if two threads inspect a class at once.
_REQUEST = msgspec.json.Decoder(SqlRequest)


def main() -> None:
    """Run the process: read the request, answer, exit."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that output of libraries does not mix with answers
    request = _REQUEST.decode(sys.stdin.buffer.readline())

    def reply(answer: Any) -> None:
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()

    try:
        cache_dir = Path(request.cache_dir) if request.cache_dir else None
        vendors = user_file.parse_vendors(request.vendors)
        trace = Store(jobs=0, cache_dir=cache_dir, vendors=vendors).trace(request.files)
        os.chdir(os.sep)  # DuckDB's settings would reveal the working directory
        connection = connect(trace, request.memory_bytes)
        reply({"loaded": True})
        _confine(request.memory_bytes)
        reply({"result": run(connection, request.query, request.rows)})
    except TraceError as error:
        reply({"error": error.packed()})
    except MemoryError:
        message = say("The query needs more memory than it may have.")
        reply({"error": TraceError("sql_memory", message).packed()})
    except Exception as error:
        message = say(
            "The query failed: {kind}: {error}",
            kind=type(error).__name__,
            error=str(error)[:2000],
        )
        reply({"error": TraceError("internal", message).packed()})
    os._exit(0)  # does not wait for threads of the query


def connect(trace: Trace, memory_bytes: int) -> Any:
    """Return a connection to a database in memory with the trace's tables. Raises TraceError."""
    try:
        import duckdb
    except ImportError as error:
        hint = say("pip install 'tb-privateuse1[sql]' brings it along.")
        raise TraceError(
            "no_sql", say("SQL needs DuckDB, which is not installed."), hint
        ) from error
    settings: dict[str, Any] = {
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "allow_persistent_secrets": "false",
        "python_enable_replacements": "false",  # else our Python variables would be tables
        "memory_limit": f"{memory_bytes}B",
        "temp_directory": "",
        "max_temp_directory_size": "0B",
        "home_directory": os.sep,  # else errors show where the user's is
        "threads": str(min(2, os.cpu_count() or 1)),
    }
    connection = duckdb.connect(":memory:", config=settings)
    strings = trace_tables.string_table(trace)
    for table in trace_tables.COLUMNS:
        rows = trace_tables.whole_table(trace, table, strings)
        connection.register(table, pa.Table.from_batches([rows]))
    connection.execute("set lock_configuration = true")
    return connection


def run(connection: Any, query: str, most_rows: int) -> dict[str, Any]:
    """Return the first rows of a result. Raises TraceError ``sql_error`` or ``sql_memory``."""
    import duckdb

    try:
        statements = connection.extract_statements(query)
        kinds = [statement.type.name for statement in statements]
        if len(kinds) != 1 or kinds[0] not in ("SELECT", "EXPLAIN"):
            names = ", ".join(kinds) or say("none")
            message = say("One statement that reads is run, not {names}.", names=names)
            hint = say("select …, with … select …, describe, explain.")
            raise TraceError("sql_error", message, hint)
        return _result(connection.execute(statements[0]), most_rows)
    except duckdb.OutOfMemoryException as error:
        hint = say("Aggregate or filter earlier, or sort less.")
        message = say("The query needs more memory than it may have.")
        raise TraceError("sql_memory", message, hint) from error
    except (duckdb.Error, RecursionError) as error:
        raise TraceError("sql_error", str(error).strip()[:4000]) from error


def _result(connection: Any, most_rows: int) -> dict[str, Any]:
    names = [{"name": column[0], "type": str(column[1])} for column in connection.description]
    if any("TIMESTAMP WITH TIME ZONE" in name["type"] for name in names):
        hint = say("Cast it to text: now()::varchar.")
        raise TraceError("sql_error", say("A result cannot hold times with a time zone."), hint)
    rows: list[list[Any]] = []
    size = 0
    while batch := connection.fetchmany(_TOGETHER):
        for row in batch:
            cells = [_cell(value) for value in row]
            size += sum(len(cell) if isinstance(cell, str) else 8 for cell in cells)
            if len(rows) >= most_rows or size > MOST_BYTES:
                return {"columns": names, "rows": rows, "cut": True}
            rows.append(cells)
    return {"columns": names, "rows": rows, "cut": False}


def _cell(value: Any) -> Any:
    """Return a value for JSON: a number, text or boolean; lists and structs are JSON text."""
    if value is None or isinstance(value, bool | int):
        # Few readers of JSON are exact beyond 64 bits; a sum is a HUGEINT.
        return value if value is None or -(1 << 63) <= value < 1 << 63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal) and value.is_finite():
        return (
            int(value)
            if value == value.to_integral_value() and abs(value) < 1 << 63
            else float(value)
        )
    if isinstance(value, bytes):
        return value[:_LONGEST].hex()
    if isinstance(value, list | tuple | dict):
        value = json.dumps(value, default=str)
    text = str(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _confine(memory_bytes: int) -> None:
    """Set limits of the process that no query can evade; on Unix only."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file can be written; a pipe can
    memory_limit.confine(int(memory_bytes * _SPARE))
