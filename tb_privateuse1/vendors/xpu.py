"""Vendor: Intel GPUs through PTI."""

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(
    name="xpu",
    title="Intel XPU",
    backends=("xpu",),
    device_types=(12,),
    device_names=re.compile(r"intel", re.IGNORECASE),
    evidence_categories=frozenset({"xpu_runtime", "xpu_driver"}),
    communication_prefixes=("xccl",),
    operator_prefixes=("xpu",),
    device_type_name="XPU",
    record_hint=say(
        "Record with ProfilerActivity.XPU. If you did, PTI reported nothing: torch needs a build "
        "with it, and the driver must allow tracing. Look for PTI in the job's log."
    ),
    matrix_unit="XMX",
    matrix_names=re.compile(r"xmx|dpas|joint_matrix|gemm_kernel|xetla|micro_sdpa", re.IGNORECASE),
)
"""Matrix names: oneDNN's gemm kernels, and those that name the instruction (``dpas``)."""
