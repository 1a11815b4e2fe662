"""The backend that is judged: its names and routes, and work on it that several checks need."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch.autograd.profiler import profile as autograd_profile

from tb_privateuse1.capture import backend, native_probe
from tb_privateuse1.capture.calibration.calibration import Calibration, calibrate
from tb_privateuse1.capture.result_rows import is_operator
from tb_privateuse1.testing.conformance.host_timing import (
    HostBusyError,
    Times,
    is_calm,
    limits,
    time_row,
    time_rows,
)

_LEAST_VALUES, _MOST_VALUES = 1 << 14, 1 << 24
"""Sizes that are tried: at most 64 MiB."""
_LONG_NS = 100_000
"""Of one operator: many times its launch, so that a row of them keeps the device busy."""
_BACKLOG_NS = 4_000_000
"""Longer than most pauses of a host, and than any launch."""
_FEWEST, _MOST_OPERATORS = 16, 400
_MOST_ROWS, _VAGUE = 50, 0.2
"""To choose values: the truth of a scorecard is timed better."""
_TRIES, _BUSY_TRIES = 5, 20


class Row(NamedTuple):
    """An operator or range that torch recorded events around."""

    name: str
    start_ns: int
    host_ns: int
    thread: int
    elapsed: int | None
    """As torch returns it: -1 without events, None if it raised."""
    failed: str | None
    streams: tuple[int, ...] | None
    """Device, and the streams of both events, if the backend says so."""
    times_ns: tuple[int, ...] | None
    """When the device executed both events, if the backend says so."""

    @property
    def end_ns(self) -> int:
        """Return when the host had ended the range."""
        return self.start_ns + self.host_ns


class Subject:
    """A backend and one of its devices. All of it is on the calling thread."""

    def __init__(self, index: int | None = None) -> None:
        self.name = backend.backend_name()
        self.module: Any = getattr(torch, self.name, None)
        self.device = self.name if index is None else f"{self.name}:{index}"
        if index is not None:
            torch.accelerator.set_device_index(index)

    @cached_property
    def stubs(self) -> bool | None:
        """Return whether the vendor registered ``ProfilerStubs``; None if that cannot be asked."""
        return backend.has_stubs()

    @cached_property
    def native(self) -> bool | None:
        """Return whether torch's own profiler records the device; None if it could not be tried."""
        registered = backend.has_native_profiler()
        return native_probe.records_device(self.name, registered).recorded

    @cached_property
    def routes(self) -> tuple[str, ...]:
        """Return which of the profiler's routes the backend offers."""
        events = () if self.stubs is False or backend.missing_internals() else ("events",)
        return (*events, *(("native",) if self.native else ()))

    @cached_property
    def calibration(self) -> Calibration:
        """Return what the capture itself measures before its first recording."""
        return calibrate(self.name)

    @cached_property
    def _long(self) -> tuple[Any, Times]:
        """Return values on which one operator takes 0.1 ms and more, if any do, and its times.

        It waits by reading values back, as the backend's ``synchronize`` is yet to be judged.
        """
        size = _LEAST_VALUES
        while True:
            values = torch.ones(size, device=self.device)
            time_row(values, 1)
            times = time_rows(values, _MOST_ROWS, _VAGUE)
            if limits(times)[0] >= _LONG_NS or size >= _MOST_VALUES:
                return values, times
            size *= 2

    @property
    def long_values(self) -> Any:
        """Return values on which one operator in place takes long."""
        return self._long[0]

    @property
    def operator_ns(self) -> int:
        """Return the time of one such operator. Raises HostBusyError if it could not be timed."""
        times = self._long[1]
        if not is_calm(times, _VAGUE):
            raise HostBusyError("the host is too busy to time an operator")
        return round(limits(times)[0])

    @cached_property
    def backlog(self) -> int:
        """Return how many long operators keep the device busy for 4 ms."""
        one = max(round(limits(self._long[1])[0]), 1)
        return min(max(-(-_BACKLOG_NS // one), _FEWEST), _MOST_OPERATORS)

    def event(self, timing: bool = False) -> Any:
        """Return a new event of the device; raises what the backend raises."""
        try:
            return torch.Event(device=self.name, enable_timing=timing)
        except Exception:  # an older torch, or a guard that makes no events
            return self.module.Event(enable_timing=timing)

    def launch(self, count: int | None = None) -> None:
        """Launch ``count`` long operators in a row, a backlog if None, without a wait."""
        values = self.long_values
        for _ in range(self.backlog if count is None else count):
            values.mul_(1.0)

    def read_back(self) -> int:
        """Return how long it took to read a value of the last operator, in ns.

        That waits whatever ``synchronize`` does: the value must be there.
        """
        return time_row(self.long_values, 0)

    @cached_property
    def backlog_ns(self) -> int:
        """Return how long the device has to work on a backlog; a busy host takes it for longer."""
        self.read_back()
        is_timed = is_calm(self._long[1], _VAGUE)
        tries = _TRIES if is_timed else _BUSY_TRIES
        timed = min(time_row(self.long_values, self.backlog) for _ in range(tries))
        return min(timed, self.backlog * self.operator_ns) if is_timed else timed

    @cached_property
    def idle_read_ns(self) -> int:
        """Return the least time to read a value that is there already."""
        self.read_back()
        return min(self.read_back() for _ in range(_TRIES))

    def rows(self, work: Callable[[], object]) -> list[Row]:
        """Return the rows that torch records of ``work`` with the vendor's events.

        None without them: torch would print a C++ stack for every operator.
        """
        if "events" not in self.routes:
            return []
        with autograd_profile(use_device=self.name, use_kineto=False) as probe:
            work()
            self.read_back()
        found = [row for row in probe.kineto_results.events() if row.correlation_id() > 0]
        return [self._row(row) for row in found if is_operator(row)]

    @cached_property
    def sample(self) -> list[Row]:
        """Return rows of operators of many lengths, nested in ranges, one stream."""
        self.launch(1)
        return self.rows(self._sample_work)

    def _sample_work(self) -> None:
        for count in range(1, 9):
            with torch.autograd.profiler.record_function(f"tb_privateuse1::row_{count}"):
                for n in range(count):
                    part = self.long_values[: self.long_values.numel() * (n + 1) // count]
                    part.mul_(1.0)
                part.add_(0.0)

    def _row(self, row: Any) -> Row:
        elapsed = failed = None
        streams = times = None
        try:
            elapsed = int(row.privateuse1_elapsed_us())
            if elapsed >= 0:
                streams, times = self._told("elapsed_streams"), self._told("event_times")
        except Exception as error:
            failed = f"{type(error).__name__}: {error}".splitlines()[0]
        return Row(
            row.name(),
            int(row.start_ns()),
            int(row.duration_ns()),
            int(row.start_thread_id()),
            elapsed,
            failed,
            streams,
            times,
        )

    def _told(self, function: str) -> tuple[int, ...] | None:
        call = getattr(self.module, function, None)
        return None if call is None else tuple(map(int, call()))
