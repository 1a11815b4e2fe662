"""Products in bfloat16 by autocast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import (
    HALF,
    Effects,
    Remedy,
    around_forward,
    device_type,
    for_each_model,
)


def _apply(effects: Effects) -> None:
    def made(forward: Callable[..., Any]) -> Callable[..., Any]:
        device = device_type()

        def call(*args: Any, **options: Any) -> Any:
            if not torch.is_autocast_enabled(device):
                effects.note("calls of a model in autocast to bfloat16")
            with torch.autocast(device, torch.bfloat16):
                return forward(*args, **options)

        return call

    for_each_model(lambda module: around_forward(module, made), effects)


REMEDY = Remedy(
    name="autocast",
    what="models run in torch.autocast to bfloat16",
    applies_to="a model that is called without autocast",
    apply=_apply,
    tolerance=HALF,
    warmup=2,  # the first call is as it was
)
