"""Backward passes whose gradients are not searched for NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tb_privateuse1.cli.remedies.remedy import Effects, Remedy, wrap


def _apply(effects: Effects) -> None:
    def made(switch: Callable[..., Any]) -> Callable[..., Any]:
        def call(mode: bool, check_nan: bool = True) -> None:
            if mode:
                effects.note("calls that turn anomaly detection on, left out")
            switch(False, check_nan)

        return call

    wrap(torch, "set_anomaly_enabled", made)


REMEDY = Remedy(
    name="no_anomaly_detection",
    what="autograd's anomaly detection stays off",
    applies_to="detect_anomaly() or set_detect_anomaly(True)",
    apply=_apply,
)
