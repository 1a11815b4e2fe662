"""Attention by scaled_dot_product_attention where a switch chooses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, for_each_model, wrap


def _apply(effects: Effects) -> None:
    def unweighted(forward: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: Any, *args: Any, **options: Any) -> Any:
            # With five arguments by position, need_weights is among them.
            if len(args) < _BEFORE and options.get("need_weights", True):
                options["need_weights"] = False
                effects.note("calls of MultiheadAttention with need_weights=False")
            return forward(self, *args, **options)

        return call

    def found(module: torch.nn.Module) -> None:
        config = getattr(module, "config", None)
        if getattr(config, "_attn_implementation", None) == "eager":
            module.set_attn_implementation("sdpa")  # type: ignore[operator]
            effects.note(f"{type(module).__name__} with attn_implementation='sdpa'")

    wrap(torch.nn.MultiheadAttention, "forward", unweighted)
    for_each_model(found, effects)


_BEFORE = 5
"""Arguments of MultiheadAttention up to need_weights: query, key, value, key_padding_mask."""

REMEDY = Remedy(
    name="sdpa",
    what="attention that has a switch uses scaled_dot_product_attention",
    applies_to="torch.nn.MultiheadAttention that returns weights, or a model of transformers with "
    "attn_implementation='eager'; attention in the program's own lines must be changed there",
    apply=_apply,
    warmup=2,
)
