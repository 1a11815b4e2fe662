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
    matrix_unit="Tensor Cores",
    matrix_names=re.compile(
        r"[hsibe](884|1688|16816|16832|16864|8816)|tensorop|[hiqw]g?mma|xmma|nvjet|_mma_"
        r"|bmm_\w+_t\d+x\d+x\d+|flash_(fwd|bwd)|fmha|cutlass.*_(tensor|sm[89]|sm1)\w*gemm|cudnn.*(tensor|sm[89]0_)"
    ),
)
"""Matrix names: of cuBLAS, cuDNN and CUTLASS the shape of the tensor instruction (``s16816``: MMA
16x8x16 into float) or its name, cuBLAS's kernels for Hopper (``nvjet``), and flash attention."""
