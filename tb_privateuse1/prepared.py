"""What views need of a trace besides its tables, made once per trace and kept as long as it is."""

from __future__ import annotations

import functools
import threading
import weakref

from tb_privateuse1 import counters, criticalpath, dependencies, looks, pyramid, pyramidfile
from tb_privateuse1.curves import Curve
from tb_privateuse1.trace import I64, Trace


class Prepared:
    """By the names of the views' positional parameters."""

    def __init__(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)
        self._lock = threading.RLock()

    @property
    def trace(self) -> Trace:
        """The trace itself."""
        trace = self._trace()
        assert trace is not None, "the caller holds the trace"
        return trace

    @functools.cached_property
    def pyramid(self) -> pyramid.Pyramid:
        """Its rectangles at several levels of detail."""
        with self._lock:
            return self.__dict__.get("pyramid") or pyramidfile.of(self.trace)

    @functools.cached_property
    def curves(self) -> tuple[Curve, ...]:
        """Its counters over time."""
        with self._lock:
            return self.__dict__.get("curves") or counters.of(self.trace)

    @functools.cached_property
    def names(self) -> I64:
        """How many ranges bear each of its strings."""
        with self._lock:
            found: I64 | None = self.__dict__.get("names")
            return looks.counts(self.trace) if found is None else found

    @functools.cached_property
    def dependencies(self) -> dependencies.Graph:
        """What waits for what."""
        with self._lock:
            return self.__dict__.get("dependencies") or dependencies.build(self.trace)

    @functools.cached_property
    def critical(self) -> criticalpath.Path:
        """The critical path of its steps."""
        with self._lock:
            found = self.__dict__.get("critical")
            return criticalpath.build(self.trace, self.dependencies) if found is None else found


_KEPT: weakref.WeakKeyDictionary[Trace, Prepared] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def of(trace: Trace) -> Prepared:
    """What is prepared of a trace; each part is made when it is first asked for."""
    with _lock:
        return _KEPT.setdefault(trace, Prepared(trace))
