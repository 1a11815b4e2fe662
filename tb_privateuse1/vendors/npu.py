"""Vendor: Huawei Ascend through PrivateUse1 (torch_npu)."""

import re

from tb_privateuse1.trace.vendor import DeviceProcess, Vendor

_HARDWARE = re.compile("^Ascend Hardware$")
_GROUPS = re.compile(r"^(Group .*)?Communication( Aicpu)?\s*$")
_NO_WORK = re.compile("^((EVENT|NOTIFY)_|MsTx)", re.IGNORECASE)
_COLLECTIVES = re.compile("^(HCCL|Communication)$")

VENDOR = Vendor(
    name="npu",
    title="Huawei Ascend",
    backends=("npu",),
    device_names=re.compile(r"ascend", re.IGNORECASE),
    evidence_categories=frozenset({"ascend_kernel", "ascend_runtime"}),
    kernel_categories=frozenset({"kernel", "ascend_kernel"}),
    memcpy_categories=frozenset({"gpu_memcpy", "memcpy", "ascend_memcpy"}),
    processes=(
        DeviceProcess(_HARDWARE, "ascend_memcpy", events=re.compile("^(MEMCPY|SDMA)")),
        DeviceProcess(_HARDWARE, "", events=_NO_WORK),
        DeviceProcess(_HARDWARE, "ascend_kernel"),
        DeviceProcess(re.compile("^CANN$"), "ascend_runtime"),
        DeviceProcess(_COLLECTIVES, "ascend_kernel", threads=_GROUPS),
        DeviceProcess(re.compile("^Overlap Analysis$"), ""),
    ),
    communication_prefixes=("hccl",),
    operator_prefixes=("npu",),
    matrix_unit="Cube",
    matrix_names=re.compile(
        r"matmul|conv[23]d|mix_aic|cube|flashattention|batch_?mm", re.IGNORECASE
    ),
    cpu_units=re.compile(r"AI_?CPU"),
    conversion_names=re.compile(r"(?i)transdata"),
)
"""Matrix names: CANN's operators that run on the cube unit of an AI Core. Units: ``Task Type`` of
its tasks. TransData converts between plain tensors and the fractal formats of the cube unit.

Processes: those of ``trace_view.json`` (CANN's documentation, msprof: "Data at the Communication
layer", and msprof's writer of it). Newer versions have no space in front of "Communication" and one
behind it, and leave out a group without a name. On its streams, waits for events and notifications
are no work, nor are the ranges of marks (MsTx), which span other tasks. A group's operator lasts as
long as its tasks on all planes, which are left out. ``Overlap Analysis`` has sums of the device's
time, no work."""
