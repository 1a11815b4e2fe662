"""No garbage collection in the steps."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap

_EVERY = 100
"""Calls of gc.collect() to one that is done: what the rule garbage_collection advises."""


def _apply(effects: Effects) -> None:
    calls = 0

    def rarely(collect: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            nonlocal calls
            calls += 1
            effects.note("calls of gc.collect(), one in a hundred done")
            return 0 if calls % _EVERY else collect(*args)

        return call

    def freeze() -> None:
        gc.freeze()
        if gc.isenabled():
            gc.disable()
            effects.note("gc.freeze() and gc.disable() behind the first step")

    wrap(gc, "collect", rarely)
    effects.after_first_step.append(freeze)


REMEDY = Remedy(
    name="frozen_garbage",
    what="what the first step left is frozen, collection is off, and gc.collect() rare",
    applies_to="garbage collection that is on, or a call of gc.collect()",
    apply=_apply,
)
