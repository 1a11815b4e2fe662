"""A lookup's result on a trace, as the routes ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views import query


def ask(lookup: Callable[..., Any], trace: Trace, **asked: Any) -> Any:
    return query.run_view(lookup, trace, asked)
