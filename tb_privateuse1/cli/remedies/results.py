"""Keep what the steps compute: their losses, or the last outputs where there is no loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, for_each_model, wrap


class StepResults:
    """Keeps the tensors that ``backward()`` is called on, and the last output of each model.

    They are read when the steps are over: to read one earlier would let the host wait for it.
    """

    def __init__(self, effects: Effects) -> None:
        self._losses: list[list[torch.Tensor]] = [[]]
        self._outputs: dict[int, Any] = {}
        self.calls_backward = False
        wrap(torch.autograd, "backward", self._watched)
        for_each_model(self._watch, effects)

    def step(self) -> None:
        """Let later losses be those of the next step."""
        self._losses.append([])

    def forget(self) -> None:
        """Let the steps begin here: what was before is no result."""
        self._losses = [[]]

    def losses(self) -> list[float] | None:
        """Return a loss for each step: the sum of its calls. None if a step has no scalar one."""
        steps = self._losses[:-1]
        if not all(steps):
            return None
        return [sum(float(one) for one in step) for step in steps]

    def outputs(self) -> list[float] | None:
        """Return mean and mean size of each tensor of the models' last outputs."""
        tensors = [
            tensor.detach().to(torch.float64 if tensor.device.type == "cpu" else torch.float32)
            for value in self._outputs.values()
            for tensor in _tensors(value)
            if tensor.numel() and tensor.is_floating_point()
        ]
        found = [float(one) for tensor in tensors for one in (tensor.mean(), tensor.abs().mean())]
        return found or None

    def _watched(self, backward: Callable[..., Any]) -> Callable[..., Any]:
        def call(tensors: Any, *args: Any, **options: Any) -> Any:
            self.calls_backward = True
            for tensor in [tensors] if isinstance(tensors, torch.Tensor) else tensors:
                if isinstance(tensor, torch.Tensor) and tensor.numel() == 1:
                    self._losses[-1].append(tensor.detach())
            return backward(tensors, *args, **options)

        return call

    def _watch(self, module: torch.nn.Module) -> None:
        def keep(_: torch.nn.Module, __: Any, output: Any) -> None:
            self._outputs[id(module)] = output

        module.register_forward_hook(keep)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of an output: itself, or those in its lists and dictionaries."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    inner: Iterable[Any] = ()
    if isinstance(value, dict):
        inner = value.values()
    elif isinstance(value, list | tuple):
        inner = value
    for one in inner:
        yield from _tensors(one)
