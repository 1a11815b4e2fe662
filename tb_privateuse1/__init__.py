"""The profiler dashboard for any PyTorch accelerator. Importing this costs next to nothing.

``open(path)`` gives the views' results in Python, ``Place`` names a trace to compare with,
``capture`` records a run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tb_privateuse1.version import __version__

if TYPE_CHECKING:
    from tb_privateuse1 import capture
    from tb_privateuse1.api import open_log as open  # noqa: A004
    from tb_privateuse1.views.reader import Selection

__all__ = ["Place", "__version__", "capture", "open"]


def __getattr__(name: str) -> Any:
    # The plugin's loader must not import torch, nor a training process numpy's friends.
    if name == "capture":
        return importlib.import_module("tb_privateuse1.capture")
    if name == "open":
        return importlib.import_module("tb_privateuse1.api").open_log
    if name == "Place":
        return importlib.import_module("tb_privateuse1.views.reader").Place
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
