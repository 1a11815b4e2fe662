"""The registry of lookups: small questions that pages ask, without a page each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.views.lookups.area import area
from tb_privateuse1.views.lookups.area_times import area_times
from tb_privateuse1.views.lookups.calls import calls
from tb_privateuse1.views.lookups.clock import clock
from tb_privateuse1.views.lookups.critical import critical
from tb_privateuse1.views.lookups.flame_diff import flame_diff
from tb_privateuse1.views.lookups.hotspots import hotspots
from tb_privateuse1.views.lookups.instances import instances
from tb_privateuse1.views.lookups.links import links
from tb_privateuse1.views.lookups.namesakes import namesakes
from tb_privateuse1.views.lookups.search import search
from tb_privateuse1.views.lookups.work import work

__all__ = [
    "LOOKUPS",
    "hotspots",
]

LOOKUPS: dict[str, Callable[..., Any]] = {
    "area": area,
    "area_times": area_times,
    "calls": calls,
    "clock": clock,
    "critical": critical,
    "flame_diff": flame_diff,
    "hotspots": hotspots,
    "instances": instances,
    "links": links,
    "namesakes": namesakes,
    "search": search,
    "work": work,
}
