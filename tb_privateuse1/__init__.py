"""The profiler dashboard for any PyTorch accelerator. Importing this costs next to nothing.

``open(path)`` gives the views' results in Python, ``Selection`` names a trace to compare with,
``capture`` records a run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tb_privateuse1 import capture
    from tb_privateuse1.api import open_log as open  # noqa: A004
    from tb_privateuse1.views.request import Selection

__version__ = "0.2.0"
"""Part of the provenance of every figure, and of every cached trace's key."""

__all__ = ["Selection", "__version__", "capture", "open"]


def __getattr__(name: str) -> Any:
    # The plugin's loader must not import torch, nor a training process numpy's friends.
    if name == "capture":
        return importlib.import_module("tb_privateuse1.capture")
    if name == "open":
        return _of_the_dashboard("tb_privateuse1.api").open_log
    if name == "Selection":
        return _of_the_dashboard("tb_privateuse1.views.request").Selection
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _of_the_dashboard(module: str) -> Any:
    # The distribution tb-privateuse1-capture has this file and the capture only.
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not (error.name and module.startswith(error.name)):
            raise
        message = (
            "tb-privateuse1-capture records runs and does not read them. In an environment for "
            "looking at recordings (Python 3.11 or later): pip install tb-privateuse1"
        )
        raise ModuleNotFoundError(message, name=error.name) from None
