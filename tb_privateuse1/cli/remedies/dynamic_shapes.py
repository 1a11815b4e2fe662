"""Compiled functions for any size instead of one for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap


def _apply(effects: Effects) -> None:
    def made(compiled: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            if not options.get("dynamic"):
                options["dynamic"] = True
                effects.note("torch.compile with dynamic=True")
            return compiled(*args, **options)

        return call

    wrap(torch, "compile", made)


REMEDY = Remedy(
    name="dynamic_shapes",
    what="torch.compile gets dynamic=True",
    applies_to="a call of torch.compile without dynamic=True",
    apply=_apply,
    warmup=4,  # as of compile
)
