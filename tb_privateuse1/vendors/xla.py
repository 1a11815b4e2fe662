"""Devices that XLA's profiler records (torch_xla, JAX): files of XProf's trace viewer."""

import re

from tb_privateuse1.trace.vendor import DeviceProcess, Vendor

_GPU = re.compile(r"^/device:GPU:\d+$")
_DEVICE = re.compile(r"^/device:(?!GPU:)\w+:\d+$")
_ANY = re.compile(r"^/device:\w+:\d+$")
_OPS = re.compile(r"^XLA Ops$")
_MODULES = re.compile(r"^XLA Modules$")

VENDOR = Vendor(
    name="xla",
    title="XLA device",
    backends=("xla",),
    device_types=(9,),
    evidence_categories=frozenset({"xla_op"}),
    kernel_categories=frozenset({"kernel", "xla_op"}),
    communication_names=re.compile(
        r"^(all-(reduce|gather|to-all)|reduce-scatter|collective-(permute|broadcast)"
        r"|ragged-all-to-all|(send|recv)(-done)?(\.|$))"
    ),
    processes=(
        DeviceProcess(_GPU, "xla_op", threads=re.compile(r"^Stream #\d+")),
        DeviceProcess(_DEVICE, "xla_op", threads=_OPS, nests=True),
        DeviceProcess(_DEVICE, "xla_op", threads=_MODULES, without=_OPS),
        DeviceProcess(_DEVICE, "gpu_user_annotation", threads=_MODULES, onto=_OPS),
        DeviceProcess(_ANY, "user_annotation", threads=re.compile(r"^Steps$"), steps=True),
    ),
    device_type_name="XLA",
)
"""Processes: those of XProf's ``trace.json.gz``. A TPU's operations are in one row, where control
flow (``while``, ``conditional``) lies around the operations of its body. Where that row is empty,
whole modules stand for the work. A GPU's kernels are in
rows by stream; its row of operations is derived from them (``DeriveEventsFromAnnotations``). That
row, asynchronous operations, name scopes and source lines are not read. Communication: HLO's
collective operations."""
