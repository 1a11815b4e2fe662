"""Run work so that an unexpected exception becomes a logged Failure, and nothing else stops.

An unexpected exception is a mistake of ours, or of a user's rule. It is logged once with its
traceback, and a Failure stands where the item's result would have been.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.interruption import Unfinished

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class Failure(Struct, frozen=True):
    """An item without a result."""

    item: str
    """What failed, in the user's words."""
    reason: str
    """The exception's type and message; it names no directory."""

    def finding(self) -> Finding:
        """Return the finding ``internal`` that stands for the item."""
        message = say("{item} failed: {reason}", item=self.item, reason=self.reason)
        hint = say("This is a mistake of tb_privateuse1: please report it with the server's log.")
        return Finding("internal", message, hint, severity="error")


def isolate(item: str, work: Callable[[], _T]) -> _T | Failure:
    """Return the result of an item's work, or its Failure.

    TraceError, Unfinished and MemoryError are raised: they have a meaning of their own.
    """
    try:
        return work()
    except (TraceError, Unfinished, MemoryError):
        raise
    except Exception as error:
        _log.exception("%s failed", item)
        return Failure(item, reason_of(error))


def isolate_fields(
    items: Mapping[str, Callable[[], Mapping[str, Any]]],
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """Return the fields that named items compute together, and the findings of those that fail."""
    results = [isolate(item, work) for item, work in items.items()]
    fields = {k: v for one in results if not isinstance(one, Failure) for k, v in one.items()}
    return fields, tuple(one.finding() for one in results if isinstance(one, Failure))


def reason_of(error: Exception) -> str:
    """Return an exception's type and first line, without a line that may name a directory."""
    kind = type(error).__name__
    if isinstance(error, OSError):
        return f"{kind}: {error.strerror}" if error.strerror else kind
    line = next(iter(str(error).splitlines()), "")
    return kind if not line or "/" in line or "\\" in line else f"{kind}: {line}"
