"""TensorBoard's entry point. Its import is not guarded by the host: it must not fail."""

from __future__ import annotations

import logging
from typing import Any

from tensorboard.plugins import base_plugin


class Loader(base_plugin.TBLoader):  # type: ignore[misc]
    """Loads the plugin; a failure costs our tab, never TensorBoard."""

    def load(self, context: Any) -> base_plugin.TBPlugin | None:
        """The plugin for a TensorBoard context, or None if something it needs is missing."""
        try:
            from tb_privateuse1.plugin import Plugin

            return Plugin(context)
        except Exception:
            logging.getLogger(__name__).exception("the PyTorch profiler tab cannot be loaded")
            return None
