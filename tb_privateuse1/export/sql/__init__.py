"""SQL over a trace's tables, each query in a process with a time limit; see docs/guide/sql.md.

Raises TraceError: ``sql_error`` with DuckDB's words, ``sql_memory``, ``sql_timeout``, ``sql_busy``,
``no_sql`` if DuckDB is not installed, or any error of reading the trace.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export.sql import worker
from tb_privateuse1.i18n import say
from tb_privateuse1.storage.ingest import without_paths
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError

__all__ = [
    "SqlResult",
]

VARIABLE = "TB_PRIVATEUSE1_SQL"
SECONDS = 20.0
ROWS = 10_000
MEMORY_BYTES = 1 << 30
LONGEST = 20_000
"""The most characters of a query."""
_AT_A_TIME = 2
_LOADING_S = 600.0
_SLACK_BYTES = 8 << 20
_EXACT = (1 << 53) - 1
"""Up to here a double represents every integer."""

Audience = Literal["nobody", "local", "everybody"]
"""Whom a server answers; ``local`` are clients of the same machine, behind no proxy."""

_running = threading.BoundedSemaphore(_AT_A_TIME)


class SqlColumn(Struct, frozen=True):
    """A column of a result; ``type`` is DuckDB's name."""

    name: str
    type: str


class SqlResult(Struct, frozen=True):
    """The rows of a query. ``cut``: there are more. Integers beyond 64 bits are text."""

    columns: tuple[SqlColumn, ...]
    rows: tuple[tuple[int | float | str | bool | None, ...], ...]
    cut: bool
    elapsed_ms: float
    """Time of the query, without the start of its process."""


# At import: msgspec crashes if two threads inspect a class at once.
msgspec.json.Decoder(SqlResult)


def for_browsers(result: SqlResult) -> SqlResult:
    """Return the result for readers with doubles only: integers beyond 2^53 are text."""

    def cell(value: int | float | str | bool | None) -> int | float | str | bool | None:
        return str(value) if isinstance(value, int) and abs(value) > _EXACT else value

    return replace(result, rows=tuple(tuple(map(cell, row)) for row in result.rows))


def installed() -> bool:
    """Return whether DuckDB is installed, without importing it."""
    return importlib.util.find_spec("duckdb") is not None


def audience(host: str | None, *, bind_all: bool) -> Audience:
    """Return whom a server answers SQL: by default this machine, if it listens to no other.

    ``$TB_PRIVATEUSE1_SQL`` overrides it: ``on`` is everybody, ``off`` nobody.
    """
    setting = os.environ.get(VARIABLE, "").strip().lower()
    if setting in ("on", "off"):
        return "everybody" if setting == "on" else "nobody"
    if bind_all:
        return "nobody"
    if host in (None, "", "localhost"):  # TensorBoard's default
        return "local"
    try:
        return "local" if ipaddress.ip_address(str(host)).is_loopback else "nobody"
    except ValueError:
        return "nobody"


def query(
    files: TraceFiles,
    text: str,
    *,
    rows: int = ROWS,
    seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    store: Store,
) -> SqlResult:
    """Return the first rows of a query over one trace; the store should have read it already."""
    if len(text) > LONGEST:
        raise TraceError(
            "bad_option", say("A query has at most {most:,} characters.", most=LONGEST)
        )
    if not _running.acquire(timeout=seconds):
        message = say("{count} other queries are running.", count=_AT_A_TIME)
        raise TraceError("sql_busy", message, say("Try again in a moment."))
    try:
        request = worker.SqlRequest(
            files,
            None if store.cache_dir is None else str(store.cache_dir),
            store.vendors.files,
            text,
            rows,
            memory_bytes,
        )
        return _run(request, seconds)
    except TraceError as error:
        raise TraceError(error.code, without_paths(error.message, files), error.hint) from error
    finally:
        _running.release()


def _run(request: worker.SqlRequest, seconds: float) -> SqlResult:
    paths = os.pathsep.join(p or str(Path.cwd()) for p in sys.path)
    with subprocess.Popen(
        [sys.executable, "-c", "from tb_privateuse1.export.sql.worker import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": paths},
    ) as process:
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            process.kill()

        try:
            assert process.stdin
            assert process.stdout
            process.stdin.write(msgspec.json.encode(request) + b"\n")
            process.stdin.flush()
            loading = _alarm(_LOADING_S, kill)
            answer = _answer(process.stdout.readline())
            loading.cancel()
            began = time.monotonic()
            if "loaded" in answer:
                running = _alarm(seconds, kill)
                answer = _answer(process.stdout.readline(worker.MOST_BYTES * 8 + _SLACK_BYTES))
                running.cancel()
        except BrokenPipeError:
            answer = {}
        finally:
            process.kill()
    if error := answer.get("error"):
        raise TraceError.unpacked(error)
    if "result" not in answer:
        raise _ended(seconds if is_late.is_set() else None)
    elapsed_ms = round(1000 * (time.monotonic() - began), 3)
    return msgspec.convert({**answer["result"], "elapsed_ms": elapsed_ms}, SqlResult)


def _alarm(seconds: float, act: Any) -> threading.Timer:
    timer = threading.Timer(seconds, act)
    timer.daemon = True
    timer.start()
    return timer


def _answer(line: bytes) -> dict[str, Any]:
    """Return an answer of the process; empty if the process died before its end."""
    try:
        found: dict[str, Any] = msgspec.json.decode(line, type=dict)
        return found
    except msgspec.DecodeError:
        return {}


def _ended(seconds: float | None) -> TraceError:
    if seconds is not None:
        message = say("The query took longer than {seconds:g} s.", seconds=seconds)
        return TraceError("sql_timeout", message, say("Filter or aggregate earlier."))
    message = say(
        "The query ended its process: most likely it needed more memory than it may have."
    )
    return TraceError("sql_memory", message, say("Filter or aggregate earlier."))
