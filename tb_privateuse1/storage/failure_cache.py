"""Remember traces that could not be read, so that nobody waits for the same failure twice."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

from tb_privateuse1.trace.errors import TraceError

_RETRY_S = 60.0
_PASSING = (
    "reader_died", "reader_stalled", "out_of_memory", "no_room", "unreadable", "no_such_path",
    "changed_while_read",
)  # fmt: skip
"""Errors whose cause may pass (the reader was killed, the disk was full), as may all that begin
with ``remote_`` or ``cluster_``; other ones stay."""
_NEVER_KEPT = ("canceled", "closed")
"""Errors without a cause in the trace."""
_MOST = 1000


class Failures:
    """The latest errors by key; the owner's lock guards it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._errors: OrderedDict[str, tuple[TraceError, float]] = OrderedDict()

    def put(self, key: str, error: TraceError) -> None:
        """Cache an error, unless its cause is not in the trace."""
        if error.code in _NEVER_KEPT:
            return
        self._errors[key] = error, self._clock()
        if len(self._errors) > _MOST:
            self._errors.popitem(last=False)

    def check(self, key: str) -> None:
        """Raise the cached TraceError of a key, unless its cause may have passed."""
        if key not in self._errors:
            return
        error, when = self._errors[key]
        if not _may_pass(error) or self._clock() - when < _RETRY_S:
            raise copy_error(error)
        del self._errors[key]


def copy_error(error: TraceError) -> TraceError:
    """Return the same error without the traceback of an earlier caller."""
    return TraceError(error.code, error.message, error.hint)


def _may_pass(error: TraceError) -> bool:
    return error.code in _PASSING or error.code.startswith(("remote_", "cluster_"))
