"""Float32 where a program asks for another type: what remedies of precision share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, wrap

Function = Callable[..., Any]
_FACTORIES = (
    "tensor", "as_tensor", "from_numpy", "zeros", "ones", "full", "empty", "arange", "linspace",
    "rand", "randn", "eye",
)  # fmt: skip


def only_float32(dtype: torch.dtype, method: str) -> Callable[[Effects], None]:
    """Return a remedy's ``apply`` that makes float32 of what would be of ``dtype``.

    ``method`` is that of tensors and modules that converts to it, such as ``double``.
    """
    name = str(dtype).removeprefix("torch.")

    def apply(effects: Effects) -> None:
        asked, made, converted = (
            functools.partial(one, effects, dtype, name) for one in (_asked, _made, _converted)
        )
        for factory in _FACTORIES:
            wrap(torch, factory, asked)
            wrap(torch, factory, made)
        for kind in (torch.Tensor, torch.nn.Module):
            wrap(kind, "to", asked)
            wrap(kind, method, converted)
        wrap(torch.Tensor, "type", asked)
        wrap(torch, "set_default_dtype", asked)

    return apply


def _asked(effects: Effects, dtype: torch.dtype, name: str, function: Function) -> Function:
    """Build a function that asks for float32 instead."""

    def other(value: Any) -> Any:
        if value is not dtype:
            return value
        effects.note(f"float32 where {name} was asked for")
        return torch.float32

    def call(*args: Any, **options: Any) -> Any:
        return function(*map(other, args), **{key: other(one) for key, one in options.items()})

    return call


def _made(effects: Effects, dtype: torch.dtype, name: str, function: Function) -> Function:
    """Build a function whose result is float32 where its data is of the other type."""

    def call(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        if isinstance(result, torch.Tensor) and result.dtype == dtype:
            effects.note(f"tensors made of {name} data")
            return result.float()
        return result

    return call


def _converted(effects: Effects, _: torch.dtype, name: str, __: Function) -> Function:
    """Build a method that converts to float32 instead."""

    def call(self: Any) -> Any:
        effects.note(f"conversions to {name} that are to float32")
        return self.float()

    return call
