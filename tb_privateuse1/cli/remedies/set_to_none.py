"""Gradients that are released instead of being filled with zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap


def _apply(effects: Effects) -> None:
    def made(zero_grad: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, set_to_none: bool = True) -> None:
            if not set_to_none:
                effects.note(f"zero_grad of {type(self).__name__} with set_to_none=True")
            zero_grad(self, set_to_none=True)

        return call

    wrap(torch.optim.Optimizer, "zero_grad", made)
    wrap(torch.nn.Module, "zero_grad", made)


REMEDY = Remedy(
    name="set_to_none",
    what="zero_grad releases gradients (set_to_none=True)",
    applies_to="a call of zero_grad(set_to_none=False)",
    apply=_apply,
)
