"""HTTP routes: a path and a query -> JSON. The same few lines serve every view.

Success is the view's result; an error is ``{"error": {"code", "message", "hint"}}`` with status
400, 404 or 422, and 500 for our own mistakes. With ``wait_ms`` a request that is not ready after
that time, because its trace is searched, read or computed, answers 202 with the progress. All
requests are GET, except those that change something: ``cancel``, which gives up reading a trace,
and ``record``, which asks a running job for a recording.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable
from typing import Any

from isal import igzip
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Request, Response

from tb_privateuse1.discovery.catalog import Runs
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export import formats, openmetrics, sql
from tb_privateuse1.export.query import EXPORT, parse_export
from tb_privateuse1.export.taken import recorded_calls, script
from tb_privateuse1.export.taken.recorded_calls import RecordedCall
from tb_privateuse1.i18n import LANGUAGES, say
from tb_privateuse1.server import perfetto_ui, record_routes, static_files
from tb_privateuse1.server.access import Access, client_of, is_local
from tb_privateuse1.server.messages import (
    API_VERSION,
    ApiError,
    AskedRecording,
    Canceled,
    Extras,
    Problem,
    RunningJobs,
)
from tb_privateuse1.server.record_permission import Permission
from tb_privateuse1.server.record_routes import RecordRoutes
from tb_privateuse1.storage import file_identity
from tb_privateuse1.storage.clients import asking
from tb_privateuse1.storage.engines import local_readers
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.version import VERSION
from tb_privateuse1.views.encoding import PAGE_BYTES, encode, encode_columns
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import (
    SELECTION,
    TRACE_QUERY,
    parse_deadline,
    parse_request,
    parse_selection,
    parse_whole,
    reject_unknown,
)

_log = logging.getLogger(__name__)

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
    "foreign_host": 403,
    "other_site": 403,
    "sql_off": 403,
    "metrics_off": 403,
    "sql_busy": 429,
    "record_off": 403,
    "record_not_here": 403,
    "record_no_job": 404,
    "record_no_rank": 404,
    "record_pending": 409,
    "bad_method": 405,
    "answer_too_large": 413,
    "canceled": 409,
    "internal": 500,
}
"""By error code; every other error is about a trace that cannot be used: 422."""

_BASE = f"/data/plugin/{static_files.PLUGIN}/"
_READ = ("GET", "HEAD")
_CHANGE = ("POST",)
_SCRAPE_MS = "5000"
"""Half of the time that Prometheus waits by default (``scrape_timeout``)."""
_WORTH_PACKING_BYTES = 1024
_MOST_BYTES = 128 << 20
"""Of one answer: the views' own limits keep all that a page asks for far below."""
_PACKED = "application/octet-stream"
"""A client must accept it by name: see ``encode_columns``."""


class _Route(Struct, frozen=True):
    """A prefix of paths, the function that answers them, and who may ask."""

    prefix: str
    answer: Callable[[Request, str], Response]
    """Gets the request and the rest of its path."""
    check: Callable[[Request], None]
    """Raises TraceError for a request that must not be answered."""
    methods: tuple[str, ...] = _READ


class Routes:
    """Answers the requests below the plugin's path.

    The answer to ``runs`` begins with ``warnings``.
    """

    def __init__(
        self,
        scanner: Scanner,
        store: Store,
        *,
        reader: Reader | None = None,
        warnings: tuple[Finding, ...] = (),
        access: Access | None = None,
        sql_audience: sql.Audience = "nobody",
        record: RecordRoutes | None = None,
        has_metrics: bool = False,
    ) -> None:
        self._scanner = scanner
        self._store = store
        self._reader = reader or Reader(store, scanner)
        self._warnings = warnings
        self._sql_audience = sql_audience
        self._has_metrics = has_metrics
        self._record = record or RecordRoutes((), scanner, Permission())
        data = (access or Access()).with_names(self._record.permission.hosts)
        read, change = data.check, data.check_change
        views = _Route("", _in_json(self._view), read)
        others = (
            # Files of the package hold nothing of a trace, and the page must show what is wrong.
            _Route("static/", static_files.respond, _let_pass),
            _Route(perfetto_ui.PREFIX, perfetto_ui.respond, _let_pass),
            _Route("runs", _in_json(self._runs), read),
            _Route("extras", _in_json(self._extras), read),
            _Route("export", self._export, read),
            _Route("operator_script", self._operator_script, read),
            _Route("sql", _in_json(self._sql), read),
            _Route("metrics", self._metrics, read),
            _Route("cancel", _in_json(self._cancel), change, _CHANGE),
            _Route(record_routes.JOBS, _in_json(self._jobs), read),
            _Route(record_routes.ASK, _in_json(self._ask), change, _CHANGE),
            _Route(record_routes.CANCEL, _in_json(self._cancel_recording), change, _CHANGE),
        )
        self._routes = {"": views, **{route.prefix: route for route in others}}

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        """Run the WSGI application. Its path is the part behind the plugin's name."""
        request = Request(environ)
        return self.respond(request)(environ, start_response)

    def respond(self, request: Request) -> Response:
        """Return the answer to one request; never raises."""
        path = request.path.removeprefix(_BASE)
        folder = "".join(path.partition("/")[:2])
        route = self._routes.get(path) or self._routes.get(folder) or self._routes[""]
        try:
            if request.method not in route.methods:
                raise TraceError(
                    "bad_method", say("{method} is not supported.", method=request.method)
                )
            route.check(request)
            with asking({client_of(request)}):
                return route.answer(request, path.removeprefix(route.prefix))
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
            response.headers["Allow"] = ", ".join(route.methods)
        return response

    def _view(self, request: Request, name: str) -> Any:
        return self._reader.run(parse_request(name, _texts(request)))

    def _runs(self, request: Request, _: str) -> Runs:
        reject_unknown("runs", _texts(request), ())
        runs = self._scanner.catalog().runs
        return replace(runs, warnings=(*self._warnings, *runs.warnings))

    def _extras(self, request: Request, _: str) -> Extras:
        reject_unknown("extras", _texts(request), ())
        return Extras(
            API_VERSION,
            VERSION,
            file_identity.build_digest(),
            perfetto_ui.bundle() is not None,
            sql.installed(),
            self._answers_sql(request),
            self._record.count(request),
            self._store.engine_use(),
            local_readers(),
        )

    def _export(self, request: Request, _: str) -> Response:
        """Return a file to download; it is sent while it is made, and nothing is stored."""
        texts = _texts(request)
        reject_unknown("export", texts, (*TRACE_QUERY, *EXPORT))
        name, window = parse_export(texts)
        deadline_s = parse_deadline(texts)
        files = self._reader.find(parse_selection(texts), deadline_s)
        trace = self._reader.use_trace(files, lambda trace: trace, deadline_s, "export")
        parts = formats.stream(name, trace, files, window)
        # Problems of the trace file show in the first part, while the status can still say so.
        first = next(parts, b"")
        form = formats.FORMATS[name]
        response = Response(itertools.chain((first,), parts), content_type=form.mime)
        response.headers.set(
            "Content-Disposition", "attachment", filename=formats.filename(name, files, window)
        )
        return _guarded(response)

    def _operator_script(self, request: Request, _: str) -> Response:
        """Return a script that runs the call of one row of the trace's operators again."""
        texts = _texts(request)
        reject_unknown("operator_script", texts, (*TRACE_QUERY, "row"))
        row = parse_whole("row", texts.get("row"))
        if row is None:
            raise TraceError("bad_option", say("row is missing."))
        deadline_s = parse_deadline(texts)
        files = self._reader.find(parse_selection(texts), deadline_s)

        def take(trace: Trace) -> RecordedCall:
            return recorded_calls.call_of(trace, row)

        call = self._reader.use_trace(files, take, deadline_s, "operator_script", (row,))
        response = Response(script.script(call), content_type="text/x-python; charset=utf-8")
        name = script.filename(call)
        response.headers.set("Content-Disposition", "attachment", filename=name)
        return _guarded(response)

    def _sql(self, request: Request, _: str) -> sql.SqlResult:
        if not self._answers_sql(request):
            hint = say(
                "It is off unless TensorBoard and its clients are on one machine: see "
                "docs/guide/sql.md."
            )
            raise TraceError("sql_off", say("This server answers no SQL."), hint)
        texts = _texts(request)
        reject_unknown("sql", texts, (*TRACE_QUERY, "query", "rows"))
        if "query" not in texts:
            raise TraceError("bad_option", say("query is missing."))
        rows = parse_whole("rows", texts.get("rows"))
        deadline_s = parse_deadline(texts)
        files = self._reader.find(parse_selection(texts), deadline_s)
        limit = sql.ROWS if rows is None else min(max(rows, 1), sql.ROWS)
        text = texts["query"]

        def run_query(_: Trace) -> sql.SqlResult:  # the query reads the trace from the cache
            return sql.for_browsers(sql.query(files, text, rows=limit, store=self._store))

        return self._reader.use_trace(files, run_query, deadline_s, "sql", (text, limit))

    def _metrics(self, request: Request, _: str) -> Response:
        """Return the figures of what is read by the deadline; more is there the next time."""
        if not self._has_metrics:
            hint = say("Set TB_PRIVATEUSE1_METRICS=on: see docs/guide/export.md.")
            raise TraceError("metrics_off", say("This server has no metrics."), hint)
        texts = _texts(request)
        reject_unknown("metrics", texts, ("matching",))
        options = {"ranks": "all", "wait_ms": _SCRAPE_MS, **texts}
        found = self._reader.run(parse_request("history", options))
        text = openmetrics.write(found.rows, waiting=found.waiting)
        return _guarded(Response(text, content_type=openmetrics.CONTENT_TYPE))

    def _answers_sql(self, request: Request) -> bool:
        if self._sql_audience == "local":
            return is_local(request)
        return self._sql_audience == "everybody"

    def _cancel(self, request: Request, _: str) -> Canceled:
        texts = _texts(request)
        reject_unknown("cancel", texts, SELECTION)
        files = self._reader.find(parse_selection(texts), deadline_s=time.monotonic())
        return Canceled(self._reader.cancel(files))

    def _jobs(self, request: Request, _: str) -> RunningJobs:
        texts = _texts(request)
        reject_unknown(record_routes.JOBS, texts, ("job", "id"))
        return self._record.jobs(request, texts)

    def _ask(self, request: Request, _: str) -> AskedRecording:
        reject_unknown(record_routes.ASK, _texts(request), ())
        return self._record.ask(request)

    def _cancel_recording(self, request: Request, _: str) -> Canceled:
        reject_unknown(record_routes.CANCEL, _texts(request), ())
        return self._record.cancel(request)


def _let_pass(_: Request) -> None:
    """Check nothing."""


def _in_json(result: Callable[[Request, str], Any]) -> Callable[[Request, str], Response]:
    return lambda request, rest: _json(request, result(request, rest), 200)


def _texts(request: Request) -> dict[str, str]:
    """Return the query. Raises TraceError ``bad_option`` for a name given twice."""
    for name, values in request.args.lists():
        if len(values) > 1:
            raise TraceError(
                "bad_option", say("{name} is given {count} times.", name=name, count=len(values))
            )
    return request.args.to_dict()


def _language(request: Request) -> str:
    """Return the first accepted language that exists, without its region: ``zh-CN`` is ``zh``."""
    for tag, quality in request.accept_languages:
        if quality > 0 and (language := tag.partition("-")[0].lower()) in LANGUAGES:
            return language
    return LANGUAGES[0]


def _json(request: Request, result: Any, status: int) -> Response:
    language = _language(request)
    packing = _PACKED in request.accept_mimetypes.values()
    columns = encode_columns(result, language) if packing else None
    body = columns or encode(result, language)
    if packing and len(body) > PAGE_BYTES:
        _log.warning("%s: an answer of %d bytes to a page", request.path, len(body))
    if len(body) > _MOST_BYTES:
        message = say("The answer would have {count:,} bytes.", count=len(body))
        hint = say("Ask for less, or use the command line: it has no limit.")
        raise TraceError("answer_too_large", message, hint)
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
    response.headers["API-Version"] = str(API_VERSION)
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
