"""The registry of lookups: small questions that pages ask, without a page each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.trace.registry import Registry

__all__ = [
    "LOOKUPS",
    "hotspots",
]

LOOKUPS = Registry[Callable[..., Any]](
    "tb_privateuse1.views.lookups",
    (
        "area",
        "area_times",
        "clock",
        "critical",
        "flame_diff",
        "hotspots",
        "kernel_instances",
        "kernel_source",
        "links",
        "memory_ranks",
        "memory_segments",
        "namesakes",
        "operator_calls",
        "search",
        "work",
    ),
)
