"""NVIDIA GPUs through CUPTI. Also what old traces (2021) are taken for if they name no device."""

import re

from tb_privateuse1.vendors.base import Vendor

VENDOR = Vendor(
    name="cuda",
    title="NVIDIA CUDA",
    backends=("cuda",),
    device_types=(1,),
    device_names=re.compile(r"nvidia|tesla|geforce|quadro|rtx", re.IGNORECASE),
    evidence_categories=frozenset({"cuda_runtime", "cuda_driver", "cuda_sync"}),
    slow_products=re.compile(
        r"^(ampere|hopper|blackwell)_sgemm|cutlass_(80|90)_simt_sgemm|sm(80|90|100)_\w*f32f32_f32f32_f32"
    ),
    product_multiple=8,
)
