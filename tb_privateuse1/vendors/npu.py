"""Huawei Ascend through PrivateUse1 (torch_npu)."""

import re

from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(
    name="npu",
    title="Huawei Ascend",
    backends=("npu",),
    device_names=re.compile(r"ascend", re.IGNORECASE),
    communication_prefixes=("hccl",),
    operator_prefixes=("npu",),
    product_multiple=16,
    matrix_unit="Cube",
    matrix_names=re.compile(
        r"matmul|conv[23]d|mix_aic|cube|flashattention|batch_?mm", re.IGNORECASE
    ),
)
"""Matrix names: CANN's operators that run on the cube unit of an AI Core."""
