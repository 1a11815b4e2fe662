"""Copies to the device from pinned memory that the host does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, device_type, wrap


def _apply(effects: Effects) -> None:
    if device_type() == "cpu":
        return

    def pinned(init: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, dataset: Any, *args: Any, **options: Any) -> None:
            if not args and not options.get("pin_memory"):
                options["pin_memory"] = True
                effects.note("DataLoader with pin_memory=True")
            init(self, dataset, *args, **options)

        return call

    def queued(copy: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: torch.Tensor, *args: Any, **options: Any) -> Any:
            # Only to the device: the host may read the result of a copy from it too early.
            if self.device.type == "cpu" and self.is_pinned() and "non_blocking" not in options:
                options["non_blocking"] = True
                effects.note("copies to the device with non_blocking=True")
            return copy(self, *args, **options)

        return call

    wrap(DataLoader, "__init__", pinned)
    wrap(torch.Tensor, "to", queued)
    wrap(torch.Tensor, "cuda", queued)


REMEDY = Remedy(
    name="pinned_copies",
    what="data loaders pin their batches, and copies of pinned tensors get non_blocking=True",
    applies_to="an accelerator, and a DataLoader without pin_memory or a copy of a pinned tensor",
    apply=_apply,
)
