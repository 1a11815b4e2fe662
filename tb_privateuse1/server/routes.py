"""HTTP: a path and a query -> JSON. The same few lines serve every view.

Success is the view's result; what goes wrong is ``{"error": {"code", "message", "hint"}}`` with
status 400, 404 or 422, and 500 for our own mistakes. With ``wait_ms`` a request whose trace is
still searched or read, or whose answer is still computed, answers after that time with 202 and how
far it is. Everything is asked for with GET; only to give up reading a trace takes a POST.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from isal import igzip
from werkzeug.wrappers import Request, Response

from tb_privateuse1 import export
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.export import sql
from tb_privateuse1.export.query import EXPORT, parse_export
from tb_privateuse1.i18n import LANGUAGES, say
from tb_privateuse1.server import perfetto_ui, static_files
from tb_privateuse1.server.messages import ApiError, Cancelled, Extras, Problem
from tb_privateuse1.storage.event_record import read_record
from tb_privateuse1.storage.jobs import Pending, Progress
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import query
from tb_privateuse1.views.computations import Report, open_trace
from tb_privateuse1.views.reader import Reader, Selection
from tb_privateuse1.views.signature import query_of, reads_of

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

_STATUS = {
    "unknown_view": 404,
    "unknown_file": 404,
    "unknown_run": 404,
    "unknown_rank": 404,
    "unknown_span": 404,
    "unknown_step": 404,
    "unknown_node": 404,
    "unknown_row": 404,
    "unknown_option": 400,
    "bad_option": 400,
    "bad_change": 400,
    "other_site": 403,
    "sql_off": 403,
    "sql_busy": 429,
    "bad_method": 405,
    "cancelled": 409,
    "internal": 500,
}
"""By error code; every other error is about a trace that cannot be used: 422."""

PLUGIN = "privateuse1"
_BASE = f"/data/plugin/{PLUGIN}/"
_PLACE = ("run", "rank", "span")
_BASE_PLACE = ("base_run", "base_rank", "base_span")
_SELECTION = (*_PLACE, "wait_ms")
_CANCEL = "cancel"
_LONGEST_WAIT_MS = 60_000
_WORTH_PACKING_BYTES = 1024
_PACKED = "application/octet-stream"
"""Asked for by name: see ``query.packed``."""


class Routes:
    """Answers the requests below the plugin's path; ``scanner`` and ``store`` do the work.

    ``warnings`` are said above the list of runs.
    """

    def __init__(
        self,
        scanner: Scanner,
        store: Store,
        *,
        reader: Reader | None = None,
        warnings: tuple[Finding, ...] = (),
        sql_allowed: bool = False,
    ) -> None:
        self._scanner = scanner
        self._store = store
        self._reader = reader or Reader(store)
        self._warnings = warnings
        self._sql_allowed = sql_allowed

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """The WSGI application. Its path is what follows the plugin's name."""
        request = Request(environ)
        return self.respond(request)(environ, start_response)

    def respond(self, request: Request) -> Response:
        """The answer to one request; never raises."""
        path = request.path.removeprefix(_BASE)
        try:
            if request.method not in _methods(path):
                raise TraceError(
                    "bad_method", say("{method} is not supported.", method=request.method)
                )
            if path == _CANCEL:
                return _json(request, self._cancel(request), 200)
            if path.startswith("static/"):
                return static_files.respond(request, path.removeprefix("static/"))
            if path.startswith(perfetto_ui.PREFIX):
                return perfetto_ui.respond(request, path.removeprefix(perfetto_ui.PREFIX))
            if path == "export":
                return self._export(_once(request))
            if path == "sql":
                return _json(request, self._sql(request), 200)
            return _json(request, self._result(path, _once(request)), 200)
        except Pending as pending:
            return _json(request, pending.progress, 202)
        except TraceError as error:
            problem = Problem(error.code, error.message, error.hint)
        except Exception:
            _log.exception("%s failed", request.full_path)
            hint = say("TensorBoard's log has the details. Please report them.")
            problem = Problem("internal", say("The dashboard made a mistake here."), hint)
        response = _json(request, ApiError(problem), _STATUS.get(problem.code, 422))
        if response.status_code == 405:
            response.headers["Allow"] = ", ".join(_methods(path))
        return response

    def _result(self, name: str, asked: dict[str, str]) -> Any:
        if name == "runs":
            query.reject_unknown(name, asked, ())
            runs = self._scanner.catalog().runs
            return replace(runs, warnings=(*self._warnings, *runs.warnings))
        if name == "extras":
            query.reject_unknown(name, asked, ())
            return Extras(perfetto_ui.bundle() is not None, sql.installed(), self._sql_allowed)
        about = read_record if name == "event" else query.view_named(name)
        selection = (*_SELECTION, *(_BASE_PLACE if "base" in reads_of(about) else ()))
        query.reject_unknown(name, asked, [*selection, *(key for key, _, _ in query_of(about))])
        chosen = {key: asked.pop(key) for key in selection if key in asked}
        until_s = _until_s(chosen.get("wait_ms"))
        if about is read_record:
            files = self._find(chosen, until_s)
            key = "event", *sorted(asked.items())
            return self._once_open(
                files, until_s, lambda _: query.run_event(self._store, files, asked), *key
            )
        options = query.parse_options(about, asked)
        base = {key: chosen.get(f"base_{key}", chosen.get(key)) for key in _PLACE}
        if "base_run" in chosen:  # another run has ranks and spans of its own
            base = {key: chosen.get(f"base_{key}") for key in _PLACE}
        # Of all ranks, the chosen one and the lowest may both lack the span.
        whole = "ranks" in reads_of(about)
        for place in ({"run": chosen.get("run")},) if whole else (chosen, base):
            self._find(place, until_s)  # waits for the scan, if it has to
        wait_s = _left_s(until_s)
        return self._reader.run(
            about, self._scanner.catalog(), _place(chosen), _place(base), options, wait_s=wait_s
        )

    def _once_open(
        self, files: TraceFiles, until_s: float | None, work: Callable[[Trace], _T], *key: Hashable
    ) -> _T:
        """What ``work`` makes of a trace, once for all who ask with the same key."""

        def whole(report: Report) -> _T:
            return work(open_trace(self._store, files, report))

        return self._reader.compute((files, *key), whole, _left_s(until_s))

    def _export(self, asked: dict[str, str]) -> Response:
        """A file to download, sent as it comes into being: nothing is stored."""
        query.reject_unknown("export", asked, (*_SELECTION, *EXPORT))
        name, window = parse_export(asked)
        until_s = _until_s(asked.get("wait_ms"))
        files = self._find(asked, until_s)
        trace = self._once_open(files, until_s, lambda trace: trace, "export")
        parts = export.stream(name, trace, files, window)
        # What is wrong with the trace file shows in the first part, while this can still be said.
        first = next(parts, b"")
        form = export.FORMATS[name]
        response = Response(itertools.chain((first,), parts), content_type=form.mime)
        response.headers.set(
            "Content-Disposition", "attachment", filename=export.filename(name, files)
        )
        return _guarded(response)

    def _sql(self, request: Request) -> sql.SqlResult:
        if not self._sql_allowed:
            hint = say(
                "It is off unless TensorBoard listens to this machine alone: see docs/guide/sql.md."
            )
            raise TraceError("sql_off", say("This server answers no SQL."), hint)
        _same_site(request)
        asked = _once(request)
        query.reject_unknown("sql", asked, (*_SELECTION, "query", "rows"))
        if "query" not in asked:
            raise TraceError("bad_option", say("query is missing."))
        rows = query.parse_whole("rows", asked.get("rows"))
        until_s = _until_s(asked.get("wait_ms"))
        files = self._find(asked, until_s)
        most = sql.ROWS if rows is None else min(max(rows, 1), sql.ROWS)
        text = asked["query"]

        def rows_of(_: Trace) -> sql.SqlResult:  # the query finds the trace in the cache
            return sql.for_browsers(sql.query(files, text, rows=most, store=self._store))

        return self._once_open(files, until_s, rows_of, "sql", text, most)

    def _cancel(self, request: Request) -> Cancelled:
        _same_site(request)
        asked = _once(request)
        query.reject_unknown(_CANCEL, asked, _PLACE)
        return Cancelled(self._store.cancel(self._find(asked, time.monotonic())))

    def _find(self, chosen: Mapping[str, str | None], until_s: float | None) -> TraceFiles:
        place = _place(chosen)
        try:
            return self._scanner.find(place.run, place.rank, place.span, _left_s(until_s))
        except TraceError as error:
            if error.code == "scanning":
                raise Pending(Progress("waiting", 0, 0, 0, None)) from error
            raise


def _place(chosen: Mapping[str, str | None]) -> Selection:
    """Raises TraceError ``bad_option``."""
    rank, span = (query.parse_whole(key, chosen.get(key)) for key in ("rank", "span"))
    return Selection(chosen.get("run"), rank, span)


def _same_site(request: Request) -> None:
    """A page of another site could send what costs us, though it could not see the answer."""
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        raise TraceError("other_site", say("Another site's page may not do this."))


def _methods(path: str) -> tuple[str, ...]:
    return ("POST",) if path == _CANCEL else ("GET", "HEAD")


def _once(request: Request) -> dict[str, str]:
    """The query, in which nothing may be said twice. Raises TraceError ``bad_option``."""
    for name, values in request.args.lists():
        if len(values) > 1:
            raise TraceError(
                "bad_option", say("{name} is given {count} times.", name=name, count=len(values))
            )
    return request.args.to_dict()


def _until_s(text: str | None) -> float | None:
    """The time at which a request has to be answered, whatever it waits for until then."""
    wait_ms = query.parse_whole("wait_ms", text)
    if wait_ms is None:
        return None
    return time.monotonic() + min(max(wait_ms, 0), _LONGEST_WAIT_MS) / 1000


def _left_s(until_s: float | None) -> float | None:
    return None if until_s is None else max(until_s - time.monotonic(), 0.0)


def _language(request: Request) -> str:
    """The first one asked for that there is, wherever it is spoken: ``zh-CN`` is ``zh``."""
    for tag, quality in request.accept_languages:
        if quality > 0 and (language := tag.partition("-")[0].lower()) in LANGUAGES:
            return language
    return LANGUAGES[0]


def _json(request: Request, result: Any, status: int) -> Response:
    language = _language(request)
    packing = _PACKED in request.accept_mimetypes.values()
    columns = query.encode_columns(result, language) if packing else None
    body = columns or query.encode(result, language)
    zipped = len(body) >= _WORTH_PACKING_BYTES and request.accept_encodings.quality("gzip") > 0
    content = igzip.compress(body, 1) if zipped else body
    kind = _PACKED if columns else "application/json"
    response = Response(content, status, content_type=kind)
    if zipped:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Content-Language"] = language
    response.headers["Vary"] = "Accept, Accept-Encoding, Accept-Language"
    return _guarded(response)


def _guarded(response: Response) -> Response:
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
