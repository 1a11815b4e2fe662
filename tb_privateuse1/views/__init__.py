"""The registry of views: a line each, in the order of the pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.views.advice import advice
from tb_privateuse1.views.counters import counters
from tb_privateuse1.views.diff import diff
from tb_privateuse1.views.distributed import distributed
from tb_privateuse1.views.flame import flame
from tb_privateuse1.views.history import history
from tb_privateuse1.views.kernels import kernels
from tb_privateuse1.views.memory import memory
from tb_privateuse1.views.method import method
from tb_privateuse1.views.modules import modules
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.quality import quality
from tb_privateuse1.views.roofline import roofline
from tb_privateuse1.views.runtime import runtime
from tb_privateuse1.views.timeline import timeline
from tb_privateuse1.views.whatif import whatif

__all__ = [
    "VIEWS",
    "advice",
    "computations",
    "diff",
    "distributed",
    "encoding",
    "history",
    "lookups",
    "reader",
    "request",
    "result",
    "roofline",
    "signature",
    "timeline",
    "user_models",
    "whatif",
]

VIEWS: dict[str, Callable[..., Any]] = {
    "overview": overview,
    "advice": advice,
    "whatif": whatif,
    "timeline": timeline,
    "operators": operators,
    "kernels": kernels,
    "runtime": runtime,
    "roofline": roofline,
    "memory": memory,
    "modules": modules,
    "counters": counters,
    "flame": flame,
    "distributed": distributed,
    "diff": diff,
    "history": history,
    "quality": quality,
    "method": method,
}
