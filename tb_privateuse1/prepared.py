"""What views need of a trace besides its tables, made once per trace and kept as long as it is."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from tb_privateuse1 import counters, criticalpath, dependencies, looks, pyramid, pyramidfile
from tb_privateuse1.curves import Curve
from tb_privateuse1.trace import I64, Trace

_T = TypeVar("_T")


class Prepared:
    """By the names of the views' positional parameters."""

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)
        self._parts: dict[str, Any] = {}
        # One lock per trace, that a part may take again for another part. ``cached_property`` has
        # on Python 3.11 one per property for all traces, and two threads waited for each other.
        self._lock = threading.RLock()

    @property
    def trace(self) -> Trace:
        """The trace itself."""
        trace = self._trace()
        assert trace is not None, "the caller holds the trace"
        return trace

    @property
    def pyramid(self) -> pyramid.Pyramid:
        """Its rectangles at several levels of detail."""
        return self._part("pyramid", lambda: pyramidfile.of(self.trace))

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Its counters over time."""
        return self._part("curves", lambda: counters.of(self.trace))

    @property
    def names(self) -> I64:
        """How many ranges bear each of its strings."""
        return self._part("names", lambda: looks.counts(self.trace))

    @property
    def dependencies(self) -> dependencies.Graph:
        """What waits for what."""
        return self._part("dependencies", lambda: dependencies.build(self.trace))

    @property
    def critical(self) -> criticalpath.Path:
        """The critical path of its steps."""
        return self._part("critical", lambda: criticalpath.build(self.trace, self.dependencies))

    def _part(self, name: str, build: Callable[[], _T]) -> _T:
        with self._lock:
            if name not in self._parts:
                self._parts[name] = build()
            part: _T = self._parts[name]
            return part


_KEPT: weakref.WeakKeyDictionary[Trace, Prepared] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def of(trace: Trace) -> Prepared:
    """What is prepared of a trace; each part is made when it is first asked for."""
    with _lock:
        return _KEPT.setdefault(trace, Prepared(trace))
