"""Find the steps of a program that tells of none: calls of its optimizer or of its model.

A step of training ends with a call of the optimizer that was called first. Until an optimizer is
made, a step begins with a call of the first outermost module that is called again. (A trainer may
validate the model before it trains it: those calls are no steps.)
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Literal
from weakref import WeakSet

import torch
from torch.nn.modules import module as torch_module

By = Literal["auto", "optimizer", "forward", "none"]
BY = ("auto", "optimizer", "forward", "none")


class ProgramSteps:
    """Calls ``begun`` before the first step of the program, and ``ended`` at the end of each.

    Both are called in the main thread. A program has begun once it makes an optimizer or calls a
    module: then it has imported what it needs, such as a backend. ``count`` is the number of steps
    so far, ``clock`` the class of the optimizer or module whose calls they are, or None.
    """

    def __init__(
        self, begun: Callable[[], None], ended: Callable[[], None], by: By = "auto"
    ) -> None:
        self.count = 0
        self.clock: str | None = None
        self._begun = begun
        self._ended = ended
        self._has_begun = False
        self._optimizer: int | None = None
        self._called: WeakSet[torch.nn.Module] = WeakSet()
        self._depth = 0
        self._hooks: list[Any] = []
        if by in ("auto", "optimizer"):
            self._watch_optimizers()
        if by in ("auto", "forward"):
            self._watch_modules()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._begun()

    def _tell(self) -> None:
        self.count += 1
        self._ended()

    def _watch_optimizers(self) -> None:
        """Let classes of optimizers whose first object is made from here on tell of each call.

        A hook of torch's would run inside of the annotation ``Optimizer.step``, which a recording
        that ends there would lose.
        """
        annotate = torch.optim.Optimizer.profile_hook_step

        def watched(step: Callable[..., Any]) -> Callable[..., Any]:
            self._begin()
            self._unhook()
            annotated = annotate(step)

            @functools.wraps(annotated)
            def call(optimizer: Any, *args: Any, **options: Any) -> Any:
                result = annotated(optimizer, *args, **options)
                self._optimized(optimizer)
                return result

            return call

        torch.optim.Optimizer.profile_hook_step = staticmethod(watched)  # type: ignore[assignment,method-assign]

    def _optimized(self, optimizer: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        if self._optimizer is None:
            self._optimizer = id(optimizer)
            self.clock = type(optimizer).__name__
        if self._optimizer == id(optimizer):
            self._tell()

    def _watch_modules(self) -> None:
        self._hooks = [
            torch_module.register_module_forward_pre_hook(self._enter),
            torch_module.register_module_forward_hook(self._leave, always_call=True),
        ]

    def _enter(self, module: torch.nn.Module, _: Any) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth += 1
        if self._depth > 1:
            return
        self._begin()
        if module not in self._called:
            self._called.add(module)
            return
        # From here on this module alone has a hook: those of all modules cost time.
        self._unhook()
        self.clock = type(module).__name__
        self._hooks = [module.register_forward_pre_hook(lambda *_: self._tell())]
        self._tell()

    def _leave(self, *_: Any) -> None:
        if threading.current_thread() is threading.main_thread():
            self._depth -= 1

    def _unhook(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
