"""TensorBoard's entry point.

The host does not guard its import: a failure here, or in what it imports, would take all of
TensorBoard down. So everything that may be missing or broken is imported in ``load``.
"""

from __future__ import annotations

import logging
from typing import Any

from tensorboard.plugins import base_plugin


class Loader(base_plugin.TBLoader):  # type: ignore[misc]
    """Loads the plugin; a failure costs our tab, never TensorBoard.

    ``vendor_files``: paths of vendor files, ``engine``: who reads traces; by default those of the
    environment.
    """

    def __init__(self, vendor_files: list[str] | None = None, engine: str | None = None) -> None:
        self._vendor_files = vendor_files
        self._engine = engine

    def load(self, context: Any) -> base_plugin.TBPlugin | None:
        """Return the plugin for a TensorBoard context.

        None if there is no logdir (``--grpc_data_provider``), or something we need is missing.
        """
        if not (context.logdir or getattr(context.flags, "logdir_spec", None)):
            return None
        try:
            from tb_privateuse1.server.plugin import Plugin

            return Plugin(context, self._vendor_files, self._engine)
        except Exception:
            logging.getLogger(__name__).exception("the tab of tb-privateuse1 cannot be loaded")
            return None
