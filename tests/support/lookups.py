"""A lookup's result on a trace, as the routes ask for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tb_privateuse1.trace.model import Trace
from tests.support.results import run_view


def ask(lookup: Callable[..., Any], trace: Trace, **asked: Any) -> Any:
    return run_view(lookup, trace, asked)
