"""Answer a tool's call: arguments -> JSON within a size. Knows nothing of the protocol.

A view's options are parsed as those of an HTTP query, with the same bounds and errors. Raises
TraceError, or Pending while a trace is read.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import sql
from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents import picture, reference
from tb_privateuse1.server.agents.compact import column_names
from tb_privateuse1.server.agents.field_paths import ResultPart, select
from tb_privateuse1.server.agents.fit import fit
from tb_privateuse1.server.agents.tools import (
    LEAST_BYTES,
    LONGEST_WAIT_S,
    MOST_BYTES,
    PICTURE_BYTES,
    USUAL_BYTES,
    USUAL_WAIT_S,
    Tool,
    schema,
    tool_named,
)
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.encoding import encode
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import (
    SELECTION,
    parse_request,
    parse_selection,
    parse_whole,
    reject_unknown,
)

Texts = dict[str, str]
_CAPTION_BYTES = 4_000
_decode = msgspec.json.Decoder().decode


class Answer(Struct, frozen=True):
    """JSON, and a picture in the format PNG or None."""

    text: str
    png: bytes | None = None


class Call(Struct, frozen=True):
    """A tool with checked arguments. ``texts`` are those of the view, as in an HTTP query."""

    tool: Tool
    texts: Texts
    max_bytes: int
    wait_s: int
    fields: tuple[str, ...]
    columns: tuple[str, ...]


class Answers:
    """Answers calls on the traces of a scanner. Its methods may be called from any thread."""

    def __init__(self, scanner: Scanner, store: Store, reader: Reader) -> None:
        self._scanner = scanner
        self._store = store
        self._reader = reader

    def answer(self, call: Call, deadline_s: float, *, sql_allowed: bool) -> Answer:
        """Return the answer to a call.

        Raises TraceError, or Pending if it takes longer than ``deadline_s`` of
        ``time.monotonic``.
        """
        kind = call.tool.kind
        if kind == "picture":
            return self._picture(call, deadline_s)
        if kind == "runs":
            result = self._runs(call.texts, deadline_s)
        elif kind == "definition":
            result = reference.define(call.texts["term"])
        elif kind == "sql_tables":
            result = reference.sql_tables(call.texts.get("table"))
        elif kind == "sql":
            result = self._sql(call.texts, deadline_s, allowed=sql_allowed)
        else:
            result = self._view(call, deadline_s)
        return Answer(_fitted(call, result).decode())

    def close(self) -> None:
        """End the search for runs and all reading."""
        self._scanner.close()
        self._store.close()

    def _view(self, call: Call, deadline_s: float) -> dict[str, Any]:
        if call.tool.name == "diff" and not any(f"base_{name}" in call.texts for name in SELECTION):
            hint = say("base_run names the old run, or base_rank or base_span a part of this one.")
            raise TraceError("bad_option", say("There is nothing to compare with."), hint)
        request = replace(parse_request(call.tool.name, call.texts), deadline_s=deadline_s)
        result = _decoded(self._reader.run(request))
        if {"ranks", "recordings"} & set(request.reads):
            return result
        return {"of": self._place(self._reader.find(request.selection, deadline_s)), **result}

    def _place(self, files: TraceFiles) -> dict[str, Any]:
        """Return run, rank and span of a trace: a call may leave them to their defaults."""
        found = self._scanner.catalog().files.items()
        place = next((key for key, own in found if own == files), (None, None, None))
        return dict(zip(SELECTION, place, strict=True))

    def _runs(self, texts: Texts, deadline_s: float) -> dict[str, Any]:
        self._scanner.await_run(None, max(deadline_s - time.monotonic(), 0))
        matching = texts.get("matching", "").casefold()
        runs = self._scanner.catalog().runs
        found = tuple(run for run in runs.runs if matching in run.run.casefold())
        return _decoded(replace(runs, runs=found)) | {"total_runs": len(runs.runs)}

    def _sql(self, texts: Texts, deadline_s: float, *, allowed: bool) -> dict[str, Any]:
        if not allowed:
            hint = say("The user of stdio may ask; over HTTP see docs/guide/sql.md.")
            raise TraceError("sql_off", say("This server answers no SQL."), hint)
        files = self._reader.find(parse_selection(texts), deadline_s)
        text, asked = texts["query"], parse_whole("rows", texts.get("rows", "200"))
        rows = min(max(asked or 0, 1), sql.ROWS)

        def run_query(_: Trace) -> sql.SqlResult:  # the query reads the trace from the cache
            return sql.query(files, text, rows=rows, store=self._store)

        key = text, rows
        return _decoded(self._reader.use_trace(files, run_query, deadline_s, "sql", key))

    def _picture(self, call: Call, deadline_s: float) -> Answer:
        texts = dict(call.texts)
        width = parse_whole("width_px", texts.pop("width_px", "1000")) or 0
        what = texts.pop("of", "timeline")
        drawing = picture.drawing(what, width)
        request = replace(
            parse_request(what, {**texts, **drawing.options(width)}), deadline_s=deadline_s
        )
        result = self._reader.run(request)
        place = self._place(self._reader.find(request.selection, deadline_s))
        parts = {"of": place, **_decoded(drawing.caption(result))}
        text = fit({name: ResultPart(name, part) for name, part in parts.items()}, _CAPTION_BYTES)
        room = call.max_bytes - len(text)
        return Answer(text.decode(), picture.fit_png(drawing, result, width, room))


def parse_call(name: str, arguments: Mapping[str, Any] | None) -> Call:
    """Return the call of a tool by name.

    Raises TraceError ``unknown_tool``, ``unknown_option`` or ``bad_option``.
    """
    tool = tool_named(name)
    if tool is None:
        hint = say("tools/list has the names of all.")
        raise TraceError("unknown_tool", say("There is no tool {name!r}.", name=name[:100]), hint)
    described = schema(tool)
    properties: Mapping[str, Any] = described["properties"]
    given = {key: value for key, value in (arguments or {}).items() if value is not None}
    reject_unknown(name, [key[:100] for key in given], list(properties))
    for key in described["required"]:
        if key not in given:
            raise TraceError("bad_option", say("{name} is missing.", name=key))
    is_picture = tool.kind == "picture"
    size = _bounded(
        given, "max_bytes", PICTURE_BYTES if is_picture else USUAL_BYTES, LEAST_BYTES, MOST_BYTES
    )
    wait_s = _bounded(given, "wait_s", USUAL_WAIT_S, 0, LONGEST_WAIT_S)
    fields, columns = _names(given, "fields"), _names(given, "columns")
    texts = {key: _text(key, value, properties[key]["type"]) for key, value in given.items()}
    return Call(tool, texts, size, wait_s, fields, columns)


def _fitted(call: Call, result: dict[str, Any]) -> bytes:
    known = set(column_names(result))
    if call.columns and not known & set(call.columns):
        names = ", ".join(sorted(known)) or say("none")
        message = say("No table has a column {name!r}.", name=call.columns[0][:100])
        raise TraceError("bad_option", message, say("There are: {names}.", names=names))
    if call.fields:
        parts = {path: select(result, path) for path in call.fields}
        return fit(parts, call.max_bytes, columns=call.columns)
    tool = call.tool
    later = [name for name in tool.later if result.get(name)]
    parts = {name: ResultPart(name, value) for name, value in result.items() if name not in later}
    return fit(parts, call.max_bytes, main=tool.main, later=later, columns=call.columns)


def _decoded(result: Any) -> dict[str, Any]:
    """Return a result as plain JSON: the same values as over HTTP and on the command line."""
    found: dict[str, Any] = _decode(encode(result))
    return found


def _bounded(given: dict[str, Any], name: str, usual: int, least: int, most: int) -> int:
    value = given.pop(name, usual)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        message = say(
            "{name} must be a whole number from {least:,} to {most:,}.",
            name=name,
            least=least,
            most=most,
        )
        raise TraceError("bad_option", message)
    return value


def _names(given: dict[str, Any], name: str) -> tuple[str, ...]:
    value = given.pop(name, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value) or len(value) > 50:
        message = say("{name} must be a list of at most {most} texts.", name=name, most=50)
        raise TraceError("bad_option", message)
    return tuple(value)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
}


def _text(name: str, value: Any, kind: str) -> str:
    """Return an argument as the text of an HTTP query."""
    if not _CHECKS[kind](value):
        message = say("{name} must be of the type {kind}.", name=name, kind=kind)
        raise TraceError("bad_option", message)
    text = str(value).lower() if isinstance(value, bool) else str(value)
    try:
        text.encode()
    except UnicodeEncodeError as error:  # half a pair of surrogates
        message = say("{name} must be valid Unicode.", name=name)
        raise TraceError("bad_option", message) from error
    return text
