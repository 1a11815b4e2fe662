"""Try whether torch's own profiler records the device: one operator, once in a process.

A backend may register with Kineto in ways that torch does not know, and one that registered may
record nothing. Only a recording shows it. It takes about a millisecond.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import torch
from torch.autograd.profiler import profile as autograd_profile

from tb_privateuse1.capture.backend import profiler_runs, synchronize
from tb_privateuse1.capture.result_rows import duration_ns

_TRIES = 2
"""A registered profiler may need a first window to warm up."""
_SIZE = 1 << 10

_lock = threading.Lock()
_known: dict[str, bool] = {}


class Found(NamedTuple):
    """The outcome: whether the device was recorded; None if that could not be tried, and why."""

    recorded: bool | None
    failed: str | None = None


def records_device(backend: str, registered: bool | None) -> Found:
    """Return whether torch's profiler records activities of the device of ``backend``.

    ``registered``: whether a profiler is known to be there. Never raises, and starts nothing while
    another profiler runs.
    """
    with _lock:
        if backend not in _known:
            if profiler_runs():
                return Found(None, "another profiler was running")
            try:
                tries = _TRIES if registered else 1
                _known[backend] = any(_recorded(backend) for _ in range(tries))
            except Exception as error:
                return Found(None, f"{type(error).__name__}: {error}")
        return Found(_known[backend])


def _recorded(backend: str) -> bool:
    values = torch.ones(_SIZE, device=backend)
    synchronize()
    with autograd_profile(use_device=backend, use_kineto=True) as probe:
        values.mul_(1.0)
        synchronize()
    return shows_device(probe.kineto_results)


def shows_device(results: Any) -> bool:
    """Return whether there is any activity of a device with a length in torch's results.

    Memory, which torch records itself, also names the device; its rows are in brackets. A profiler
    that records nothing may leave instants.
    """
    return any(
        row.device_type().name != "CPU" and not row.name().startswith("[") and duration_ns(row) > 0
        for row in results.events()
    )


def has_device_activity(prof: Any) -> bool:
    """Return whether a native backend put any activity of the device into the last cycle."""
    return shows_device(prof.profiler.kineto_results)
