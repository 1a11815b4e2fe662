"""The TensorBoard plugin: connect the host's context with scanner, store and routes."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tensorboard.plugins import base_plugin

from tb_privateuse1 import readers
from tb_privateuse1.advice import user_rules
from tb_privateuse1.discovery import roots
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.export import sql
from tb_privateuse1.server import access, record_permission, static_files
from tb_privateuse1.server.record_routes import RecordRoutes
from tb_privateuse1.server.routes import PLUGIN, Routes
from tb_privateuse1.storage import engines
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.memory_budget import BUDGET
from tb_privateuse1.vendors import user_file
from tb_privateuse1.vendors.user_file import OURS
from tb_privateuse1.views import user_models
from tb_privateuse1.views.reader import Reader

LINKS_VARIABLE = "TB_PRIVATEUSE1_LINKS"
_IDLE_S = 600.0
"""What nobody asks for that long is dropped from memory."""

_log = logging.getLogger(__name__)


class Plugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """The dashboard. Nothing but users' files is read before the first request."""

    plugin_name = PLUGIN

    def __init__(
        self, context: Any, vendor_files: Sequence[str] | None = None, engine: str | None = None
    ) -> None:
        # With --logdir_spec TensorBoard's logdir is empty.
        spec = getattr(context.flags, "logdir_spec", "") or ""
        interval_s = getattr(context.flags, "reload_interval", 5.0)
        named = roots.parse_spec(spec)
        self._scanner = Scanner(
            context.logdir or "",
            readers.READERS,
            named,
            interval_s,
            links_out=os.environ.get(LINKS_VARIABLE, "").strip().lower() == "follow",
        )
        host = getattr(context.flags, "host", None)
        bind_all = bool(getattr(context.flags, "bind_all", False))
        record = RecordRoutes(
            named or [("", path) for path in (context.logdir,) if path],
            self._scanner,
            record_permission.from_environment(),
        )
        rules, vendors = user_rules.from_environment(), OURS
        warnings: list[Finding] = []
        with _warned(warnings):
            vendors = user_file.load_vendors(vendor_files)
        with _warned(warnings):
            rules.load()
        with _warned(warnings):
            user_models.use_from_environment()
        reads = None
        with _warned(warnings):
            reads = engines.select_engine(engine)
        store = Store(vendors=vendors, engine=reads)
        BUDGET.drop_when_idle(_IDLE_S)
        self._routes = Routes(
            self._scanner,
            store,
            reader=Reader(store, self._scanner, rules.usable),
            warnings=tuple(warnings),
            access=access.from_environment(host),
            sql_audience=sql.audience(host, bind_all=bind_all),
            record=record,
        )

    def get_plugin_apps(self) -> Mapping[str, Callable[..., Any]]:
        """Return one application for all paths below the plugin's: it answers wrong paths, too."""
        return {"/*": self._routes}

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
