"""Mistakes of other backends that lie in Python: the setting `fault`, for the conformance kit.

A vendor copies nothing from here.
"""

from collections.abc import Callable
from types import ModuleType

import torch

_UNNAMED = ("elapsed_streams", "marker_streams", "event_times")
_UNTIMED = ("event_times",)


def remove_what_is_not_named(module: ModuleType, fault: str) -> None:
    """Take functions off the device's module that a backend may lack."""
    names = {"unnamed_streams": _UNNAMED, "no_event_times": _UNTIMED}.get(fault, ())
    for name in names:
        delattr(module, name)


def compute_on_the_cpu(fault: str) -> torch.library.Library | None:
    """Let one operator copy its inputs to the CPU and its result back, as torch's fallback does."""
    if fault != "cpu_fallback":
        return None

    def softmax(values: torch.Tensor, dim: int, half_to_float: bool) -> torch.Tensor:
        return torch._softmax(values.cpu(), dim, half_to_float).to(values.device)

    library = torch.library.Library("aten", "IMPL")
    implement: Callable[..., None] = library.impl
    implement("_softmax", softmax, "PrivateUse1", allow_override=True)
    return library
