"""Activations that are kept instead of being computed again in the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils import checkpoint

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap

_OPTIONS = (
    "use_reentrant", "context_fn", "determinism_check", "debug", "preserve_rng_state", "early_stop",
)  # fmt: skip
"""Arguments of checkpoint() that are none of the function's."""


def _apply(effects: Effects) -> None:
    def made(_: Callable[..., Any]) -> Callable[..., Any]:
        def call(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
            effects.note("calls of checkpoint() that keep their activations")
            own = {name: value for name, value in options.items() if name not in _OPTIONS}
            return function(*args, **own)

        return call

    wrap(checkpoint, "checkpoint", made)


REMEDY = Remedy(
    name="kept_activations",
    what="torch.utils.checkpoint.checkpoint() calls its function and keeps the activations",
    applies_to="a call of torch.utils.checkpoint.checkpoint()",
    apply=_apply,
)
