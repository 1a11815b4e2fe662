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
)
