"""Convolutional models and their inputs in channels_last."""

from __future__ import annotations

from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, for_each_model

_CONVOLUTIONS = (torch.nn.Conv2d, torch.nn.ConvTranspose2d)
_PLANES = 4
"""Dimensions of a batch of images."""


def _apply(effects: Effects) -> None:
    def found(module: torch.nn.Module) -> None:
        if not any(isinstance(one, _CONVOLUTIONS) for one in module.modules()):
            return
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        module.register_forward_pre_hook(lambda _, inputs: tuple(map(_last, inputs)))
        effects.note(f"{type(module).__name__} and its inputs in channels_last")

    for_each_model(found, effects)


def _last(value: Any) -> Any:
    is_image = isinstance(value, torch.Tensor) and value.dim() == _PLANES
    return value.contiguous(memory_format=torch.channels_last) if is_image else value


REMEDY = Remedy(
    name="channels_last",
    what="models with convolutions, and their inputs, are laid out in channels_last",
    applies_to="a model with two-dimensional convolutions",
    apply=_apply,
    warmup=2,  # the first call has the input as it was
)
