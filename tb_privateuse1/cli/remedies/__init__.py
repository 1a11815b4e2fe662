"""Remedies that can be applied to a program at run time, and the process that measures one.

``REMEDIES`` has them by name, each a module of its own; rules of the advice name theirs. To list
names imports no torch. ``python -m tb_privateuse1.cli.remedies`` runs a program with a remedy, or
as it is, and writes what a step took: one run of ``tb-privateuse1 try``. ``run`` describes the
report. Nothing of the user's files is changed: remedies replace functions of torch in that process
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_privateuse1.trace.registry import Registry

if TYPE_CHECKING:
    from tb_privateuse1.cli.remedies.remedy import Remedy

__all__ = ["REMEDIES"]

REMEDIES: Registry[Remedy] = Registry(
    "tb_privateuse1.cli.remedies",
    (
        "fused_optimizer",
        "set_to_none",
        "loader_workers",
        "pinned_copies",
        "sdpa",
        "compile",
        "dynamic_shapes",
        "channels_last",
        "inference_mode",
        "autocast",
        "single_precision",
        "float32_on_host",
        "kept_activations",
        "frozen_garbage",
        "without_synchronize",
        "queued_launches",
        "no_anomaly_detection",
        "kept_memory",
    ),
    "REMEDY",
)
