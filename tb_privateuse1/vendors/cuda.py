"""NVIDIA GPUs through CUPTI; also old traces (2021) that name no device."""

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.vendor import Peak, Vendor

VENDOR = Vendor(
    name="cuda",
    title="NVIDIA CUDA",
    backends=("cuda",),
    device_types=(1,),
    device_names=re.compile(r"nvidia|tesla|geforce|quadro|rtx", re.IGNORECASE),
    evidence_categories=frozenset({"cuda_runtime", "cuda_driver", "cuda_sync"}),
    communication_prefixes=("nccl",),
    operator_prefixes=("cudnn",),
    runtime_prefixes=("cuda", "cu"),
    shares_backend=True,  # torch calls AMD's devices cuda too
    device_type_name="CUDA",
    perfetto_gpu_api=4,
    slow_products=re.compile(
        r"^(ampere|hopper|blackwell)_sgemm|cutlass_(80|90)_simt_sgemm|sm(80|90|100)_\w*f32f32_f32f32_f32"
    ),
    product_multiple=8,
    matrix_unit="Tensor Cores",
    matrix_names=re.compile(
        r"[hsibe](884|1688|16816|16832|16864|8816)|tensorop|[hiqw]g?mma|xmma|nvjet|_mma_"
        r"|bmm_\w+_t\d+x\d+x\d+|flash_(fwd|bwd)|fmha|cutlass.*_(tensor|sm[89]|sm1)\w*gemm|cudnn.*(tensor|sm[89]0_)"
    ),
    compute_units=say("Streaming multiprocessors"),
    peaks=(
        Peak(re.compile(r"\bB200$"), 2250, 8000),
        Peak(re.compile(r"\bH200$"), 989, 4800),
        Peak(re.compile(r"\bH100 80GB HBM3$"), 989, 3350),
        Peak(re.compile(r"\bH100 NVL$"), 835, 3900),
        Peak(re.compile(r"\bH100 PCIe$"), 756, 2000),
        Peak(re.compile(r"\bA100-SXM4?-80GB$"), 312, 2039),
        Peak(re.compile(r"\bA100 80GB PCIe$"), 312, 1935),
        Peak(re.compile(r"\bA100-(SXM4|PCIE)-40GB$"), 312, 1555),
        Peak(re.compile(r"\bA40$"), 149.7, 696),
        Peak(re.compile(r"\bA10$"), 125, 600),
        Peak(re.compile(r"\bL40S$"), 362, 864),
        Peak(re.compile(r"\bL40$"), 181, 864),
        Peak(re.compile(r"\bL4$"), 121, 300),
        Peak(re.compile(r"\bV100-SXM2-(16|32)GB$"), 125, 900),
        Peak(re.compile(r"\bV100-PCIE-(16|32)GB$"), 112, 900),
        Peak(re.compile(r"\bT4$"), 65),  # the maker's own papers give 300 and 320 GB/s
    ),
)
"""Matrix names: cuBLAS, cuDNN and CUTLASS name the tensor instruction or its shape (``s16816``: MMA
16x8x16 into float). ``nvjet`` are cuBLAS's kernels for Hopper; the others are flash attention.

Peaks: docs/reference/vendors.md has their sources. A slice of a GPU (``… MIG 1g.5gb``) is another
device."""
