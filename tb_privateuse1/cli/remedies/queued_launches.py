"""Launches that return when they are queued."""

from __future__ import annotations

import os

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy

_NAMES = ("CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "ASCEND_LAUNCH_BLOCKING")


def _apply(effects: Effects) -> None:
    for name in _NAMES:
        if os.environ.get(name, "0") != "0":
            del os.environ[name]
            effects.note(f"{name} unset")


REMEDY = Remedy(
    name="queued_launches",
    what="the environment's variables for blocking launches are unset",
    applies_to=f"one of {', '.join(_NAMES)} in the environment",
    apply=_apply,
)
