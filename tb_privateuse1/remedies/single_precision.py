"""float32 where the program asks for float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.remedies.remedy import Effects, Remedy, wrap

_FACTORIES = (
    "tensor", "as_tensor", "from_numpy", "zeros", "ones", "full", "empty", "arange", "linspace",
    "rand", "randn", "eye",
)  # fmt: skip


def _apply(effects: Effects) -> None:
    def asked(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            changed = {name: _single(value) for name, value in options.items()}
            arguments = tuple(map(_single, args))
            if any(value is torch.float64 for value in (*args, *options.values())):
                effects.note("float32 where float64 was asked for")
            return function(*arguments, **changed)

        return call

    def made(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            result = function(*args, **options)
            if isinstance(result, torch.Tensor) and result.dtype == torch.float64:
                effects.note("tensors made of float64 data")
                return result.float()
            return result

        return call

    def double(_: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any) -> Any:
            effects.note("calls of double() that stay float32")
            return self.float()

        return call

    for name in _FACTORIES:
        wrap(torch, name, asked)
        wrap(torch, name, made)
    for kind in (torch.Tensor, torch.nn.Module):
        wrap(kind, "to", asked)
        wrap(kind, "double", double)
    wrap(torch.Tensor, "type", asked)
    wrap(torch, "set_default_dtype", asked)


def _single(value: Any) -> Any:
    return torch.float32 if value is torch.float64 else value


REMEDY = Remedy(
    name="single_precision",
    what="tensors and models that would be float64 are float32",
    applies_to="a tensor or model that is made or converted to float64 by torch's functions",
    apply=_apply,
)
