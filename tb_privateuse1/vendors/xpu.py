"""Intel GPUs through PTI."""

import re

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
    matrix_unit="XMX",
    matrix_names=re.compile(r"xmx|dpas|joint_matrix|gemm_kernel|xetla|micro_sdpa", re.IGNORECASE),
)
"""Matrix names: oneDNN's gemm kernels, and those that name the instruction (``dpas``)."""
