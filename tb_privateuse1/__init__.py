"""The profiler dashboard for any PyTorch accelerator. Importing this costs next to nothing.

``open(path)`` gives the views' results in Python, ``Selection`` names a trace to compare with,
``capture`` records a run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_privateuse1 import capture
    from tb_privateuse1.api import Selection
    from tb_privateuse1.api import open_log as open  # noqa: A004

    __version__: str

__all__ = ["Selection", "__version__", "capture", "open"]


def __getattr__(name: str) -> Any:
    # The plugin's loader must not import torch, nor a training process numpy's friends.
    if name == "capture":
        return importlib.import_module("tb_privateuse1.capture")
    if name == "__version__":
        return importlib.import_module("tb_privateuse1.trace.version").VERSION
    if name in ("Selection", "open"):
        return getattr(_import_api(), {"open": "open_log"}.get(name, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _import_api() -> Any:
    # The distribution tb-privateuse1-capture has this file, the version and the capture only.
    module = "tb_privateuse1.api"
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        message = (
            "tb-privateuse1-capture records runs and does not read them. In an environment for "
            "looking at recordings (Python 3.11 or later): pip install tb-privateuse1"
        )
        raise ModuleNotFoundError(message, name=error.name) from None
