"""Models that record nothing for a backward pass that never comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, around_forward, for_each_model


def _apply(effects: Effects) -> None:
    def made(forward: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if torch.is_grad_enabled():
                effects.note("calls of a model in inference_mode()")
            with torch.inference_mode():
                return forward(*args, **options)

        return call

    for_each_model(lambda module: around_forward(module, made), effects)


REMEDY = Remedy(
    name="inference_mode",
    what="models run in torch.inference_mode()",
    applies_to="a model that is called with gradients on, in a program that calls no backward()",
    apply=_apply,
    warmup=2,  # the first call is as it was
    keeps_backward=False,
)
