"""The TensorBoard plugin: connect the host's context with scanner, store and routes."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from tb_privateuse1 import readers
from tb_privateuse1.discovery import roots
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.server import static_files
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import BUDGET

if TYPE_CHECKING:
    from tb_privateuse1.server.routes import Routes

LINKS_VARIABLE = "TB_PRIVATEUSE1_LINKS"
METRICS_VARIABLE = "TB_PRIVATEUSE1_METRICS"
_IDLE_S = 600.0
"""What nobody asks for that long is dropped from memory."""

_log = logging.getLogger(__name__)


class Plugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """The dashboard. Before the first request it looks for traces only.

    What answers requests is imported, and users' files are read, when somebody opens the page: most
    who start TensorBoard look at something else.
    """

    plugin_name = static_files.PLUGIN

    def __init__(
        self, context: Any, vendor_files: Sequence[str] | None = None, engine: str | None = None
    ) -> None:
        # With --logdir_spec TensorBoard's logdir is empty.
        self._roots = roots.parse_spec(getattr(context.flags, "logdir_spec", "") or "")
        self._scanner = Scanner(
            context.logdir or "",
            readers.READERS,
            self._roots,
            getattr(context.flags, "reload_interval", 5.0),
            links_out=os.environ.get(LINKS_VARIABLE, "").strip().lower() == "follow",
        )
        self._context = context
        self._vendor_files = vendor_files
        self._engine = engine
        self._lock = threading.Lock()
        self._made: Routes | None = None

    def routes(self) -> Routes:
        """Return what answers requests; the first call makes it."""
        with self._lock:
            if self._made is None:
                self._made = self._make_routes()
            return self._made

    def _make_routes(self) -> Routes:
        from tb_privateuse1.advice import user_rules
        from tb_privateuse1.export import sql
        from tb_privateuse1.server import access, record_permission
        from tb_privateuse1.server.record_routes import RecordRoutes
        from tb_privateuse1.server.routes import Routes
        from tb_privateuse1.storage import engines
        from tb_privateuse1.storage.store import Store
        from tb_privateuse1.vendors import user_file
        from tb_privateuse1.views import user_models
        from tb_privateuse1.views.reader import Reader

        context = self._context
        host = getattr(context.flags, "host", None)
        record = RecordRoutes(
            self._roots or [("", path) for path in (context.logdir,) if path],
            self._scanner,
            record_permission.from_environment(),
        )
        rules, vendors, reads = user_rules.from_environment(), user_file.OURS, None
        warnings: list[Finding] = []
        with _warned(warnings):
            vendors = user_file.load_vendors(self._vendor_files)
        with _warned(warnings):
            rules.load()
        with _warned(warnings):
            user_models.use_from_environment()
        with _warned(warnings):
            reads = engines.select_engine(self._engine)
        store = Store(vendors=vendors, engine=reads)
        BUDGET.drop_when_idle(_IDLE_S)
        return Routes(
            self._scanner,
            store,
            reader=Reader(store, self._scanner, rules.usable),
            warnings=tuple(warnings),
            access=access.from_environment(host),
            sql_audience=sql.audience(
                host, bind_all=bool(getattr(context.flags, "bind_all", False))
            ),
            record=record,
            has_metrics=os.environ.get(METRICS_VARIABLE, "").strip().lower() == "on",
        )

    def get_plugin_apps(self) -> Mapping[str, Callable[..., Any]]:
        """Return one application for all paths below the plugin's: it answers wrong paths, too."""
        return {"/*": self._answer}

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        return self.routes()(environ, start_response)

    def is_active(self) -> bool:
        """Return whether there is a trace, by the background scan; this never scans itself."""
        return self._scanner.is_active()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Return the ES module and the name of the tab."""
        return base_plugin.FrontendMetadata(
            es_module_path=f"/static/{static_files.ENTRY}",
            tab_name="Profiler",
        )


@contextlib.contextmanager
def _warned(warnings: list[Finding]) -> Iterator[None]:
    """Turn an error in a user's file into a warning and a line of the log."""
    try:
        yield
    except TraceError as error:
        _log.error("%s", error.message)
        warnings.append(Finding(error.code, error.message, error.hint))
