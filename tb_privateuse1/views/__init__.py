"""The registry of views: a line each, in the order of the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.trace.registry import Registry

__all__ = [
    "VIEWS",
    "advice",
    "diff",
    "distributed",
    "encoding",
    "history",
    "lookups",
    "method",
    "methods",
    "overview",
    "reader",
    "request",
    "result",
    "roofline",
    "signature",
    "timeline",
    "user_models",
    "whatif",
]

VIEWS = Registry[Callable[..., Any]](
    "tb_privateuse1.views",
    (
        "overview",
        "advice",
        "whatif",
        "timeline",
        "operators",
        "kernels",
        "runtime",
        "roofline",
        "memory",
        "modules",
        "counters",
        "flame",
        "distributed",
        "diff",
        "history",
        "serving",
        "compilation",
        "quality",
        "method",
    ),
)
