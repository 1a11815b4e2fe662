"""The TensorBoard plugin: connects the host's context with scanner, store and routes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tensorboard.plugins import base_plugin

from tb_privateuse1 import sql, static_files
from tb_privateuse1.discover import roots
from tb_privateuse1.routes import PLUGIN, Routes
from tb_privateuse1.scanner import Scanner
from tb_privateuse1.store import Store


class Plugin(base_plugin.TBPlugin):  # type: ignore[misc]
    """The dashboard. Nothing runs before the first request."""

    plugin_name = PLUGIN

    def __init__(self, context: Any) -> None:
        # With --logdir_spec TensorBoard's logdir is empty.
        spec = getattr(context.flags, "logdir_spec", "") or ""
        interval_s = getattr(context.flags, "reload_interval", 5.0)
        self._scanner = Scanner(context.logdir or "", roots.parse_spec(spec), interval_s)
        sql_allowed = sql.allowed(
            getattr(context.flags, "host", None),
            bind_all=bool(getattr(context.flags, "bind_all", False)),
        )
        self._routes = Routes(self._scanner, Store(), sql_allowed=sql_allowed)

    def get_plugin_apps(self) -> Mapping[str, Callable[..., Any]]:
        """One application for everything below the plugin's path: it knows what is missing."""
        return {"/*": self._routes}

    def is_active(self) -> bool:
        """Whether there is a trace: the result of the background scan, never a scan itself."""
        return self._scanner.is_active()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """An ES module of our own origin, in a tab of its own."""
        return base_plugin.FrontendMetadata(
            es_module_path=f"/static/{static_files.ENTRY}",
            tab_name="Profiler",
        )
