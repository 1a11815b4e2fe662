"""Steps in which the host does not wait for the device by synchronize()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, device_type, wrap


def _apply(effects: Effects) -> None:
    device = device_type()
    if device == "cpu":
        return

    def made(_: Callable[..., Any]) -> Callable[..., Any]:
        def call(*__: Any, **___: Any) -> None:
            effects.note("calls of synchronize() left out")

        return call

    wrap(torch.accelerator, "synchronize", made)
    own = getattr(torch, device, None)
    if hasattr(own, "synchronize"):
        wrap(own, "synchronize", made)


REMEDY = Remedy(
    name="without_synchronize",
    what="synchronize() returns at once",
    applies_to="an accelerator, and a call of its synchronize()",
    apply=_apply,
)
