"""Interface of remedies: what one does to a process, and the count of what it changed."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.modules import module as torch_module

ROUNDING = 1e-3
"""How far losses may differ where a remedy computes the same in another order: sums of float32 have
errors of 1e-6 to 1e-5, which some tens of steps of training multiply."""

HALF = 2e-2
"""The same where a remedy computes in bfloat16, whose numbers have a spacing of 1/128 to 1/256."""


@dataclass
class Effects:
    """The changes that took effect while the program ran: texts with how often each happened."""

    counts: Counter[str] = field(default_factory=Counter)
    after_first_step: list[Callable[[], None]] = field(default_factory=list)
    """Called when the first step ends, once: what a remedy does there, or what it takes away."""

    def note(self, text: str) -> None:
        """Count one change that took effect."""
        self.counts[text] += 1


@dataclass(frozen=True)
class Remedy:
    """A fix that needs no change of the program's files."""

    name: str
    what: str
    """What it does, for people: a clause."""
    applies_to: str
    """What the program must have; the message where nothing was changed quotes it."""
    apply: Callable[[Effects], None]
    """Change the process before the program begins."""
    tolerance: float = ROUNDING
    """By how much the loss may differ, as a share of it."""
    warmup: int = 0
    """Steps that it needs before it is measured, such as for compiling."""
    is_wider: bool = False
    """It changes more than a finding is about: the finding's estimate is of a part of it."""
    keeps_backward: bool = True
    """False: it cannot be applied to a program that calls backward()."""


def wrap(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function of a class or module by what ``made`` builds of it, for good."""
    original = getattr(owner, name)
    setattr(owner, name, functools.wraps(original)(made(original)))


def for_each_model(found: Callable[[torch.nn.Module], None], effects: Effects) -> None:
    """Call ``found`` before the first call of each outermost module with parameters.

    Modules are watched until the first step ends: hooks of all modules cost time, and a compiled
    function would have them inside.
    """
    models = _OutermostModules(found)
    effects.after_first_step.append(models.close)


class _OutermostModules:
    """Watches the calls of modules in the main thread."""

    def __init__(self, found: Callable[[torch.nn.Module], None]) -> None:
        self._found = found
        self._seen: list[torch.nn.Module] = []
        self._depth = 0
        self._hooks = [
            torch_module.register_module_forward_pre_hook(self._enter),
            torch_module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def close(self) -> None:
        """Watch no more."""
        for hook in self._hooks:
            hook.remove()

    def _enter(self, module: torch.nn.Module, _: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth > 1 or any(module is one for one in self._seen):
            return
        if next(module.parameters(), None) is not None:
            self._seen.append(module)
            self._found(module)

    def _leave(self, *_: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1


def around_forward(
    module: torch.nn.Module, made: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Replace the forward function of this module alone, from its next call on."""
    wrap(module, "forward", made)


def device_type() -> str:
    """Return the type of the machine's accelerator, or ``cpu``."""
    if torch.accelerator.is_available():
        device = torch.accelerator.current_accelerator()
        if device is not None:
            return device.type
    return "cpu"
