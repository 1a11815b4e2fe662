"""Mistakes of other backends that lie in Python: the setting `fault`, for the conformance kit.

A vendor copies nothing from here.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

_UNNAMED = ("elapsed_streams", "marker_streams", "event_times")
_UNTIMED = ("event_times",)

Log = tuple[list[int], list[int], list[int], list[int]]
"""Time, thread, device and stream of each launch."""


def remove_what_is_not_named(module: ModuleType, fault: str) -> None:
    """Take functions off the device's module that a backend may lack."""
    names = {"unnamed_streams": _UNNAMED, "no_event_times": _UNTIMED}.get(fault, ())
    for name in names:
        delattr(module, name)


def err_in_launch_log(module: ModuleType, fault: str) -> None:
    """Let the log of launches have its times in µs, or every second launch only."""
    logged: Callable[[], Log] = module.stop_launch_log

    def in_microseconds() -> Log:
        times, threads, devices, streams = logged()
        return [one // 1000 for one in times], threads, devices, streams

    def every_second() -> Log:
        times, threads, devices, streams = (column[::2] for column in logged())
        return times, threads, devices, streams

    wrong = {"log_unit": in_microseconds, "log_loses": every_second}.get(fault, logged)
    module.stop_launch_log = wrong  # type: ignore[attr-defined]


def replace_operators(fault: str) -> torch.library.Library | None:
    """Return the registration of an operator with a mistake, which holds as long as it lives."""
    if fault not in _OPERATORS:
        return None
    library = torch.library.Library("aten", "IMPL")
    implement: Callable[..., None] = library.impl
    implement(*_OPERATORS[fault], "PrivateUse1", allow_override=True)
    return library


def _softmax(values: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
    """Copy the inputs to the CPU and the result back, as torch's fallback does."""
    return torch._softmax(values.cpu(), dim, half_to_float).to(values.device)


def _mm(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Return a product without a look at the shapes."""
    return left.new_zeros(left.shape[0], right.shape[1])


def _empty(*_: Any, **__: Any) -> torch.Tensor:
    """Fail as a backend whose driver finds no device."""
    raise RuntimeError("refdev: no device could be started")


_OPERATORS: dict[str, tuple[str, Callable[..., torch.Tensor]]] = {
    "cpu_fallback": ("_softmax", _softmax),
    "errors_pass": ("mm", _mm),
    "no_device": ("empty.memory_format", _empty),
}
