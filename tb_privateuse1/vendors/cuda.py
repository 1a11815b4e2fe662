"""Vendor: NVIDIA GPUs through CUPTI; also old traces (2021) that name no device."""

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import Vendor

_HOPPER = Rates(fp64=67, tf32=494.5, bf16=989, fp16=989, fp8=1979, int8=1979)
_HOPPER_VECTOR = Rates(fp64=34, fp32=67, bf16=133.8, fp16=133.8)
_A100 = Rates(fp64=19.5, tf32=156, bf16=312, fp16=312, int8=624)
_A100_VECTOR = Rates(fp64=9.7, fp32=19.5, bf16=39, fp16=78)


def _peak(
    name: str,
    matrix: Rates,
    vector: Rates,
    memory_gb_per_s: float | None,
    cache_mb: float | None,
    nvlink_gb_per_s: float | None,
    pcie_gb_per_s: float | None,
) -> Peak:
    """Return the peak of the devices whose names end like this."""
    link = "" if nvlink_gb_per_s is None else "NVLink"
    return Peak(
        re.compile(rf"\b{name}$"),
        matrix,
        vector,
        memory_gb_per_s,
        cache_mb,
        link,
        nvlink_gb_per_s,
        pcie_gb_per_s,
    )


_PEAKS = (
    _peak(
        "B200",
        Rates(tf32=1125, bf16=2250, fp16=2250, fp8=4500, fp4=9000, int8=4500),
        Rates(),  # found in one place only
        8000,
        None,
        900,
        None,
    ),
    _peak("H200", _HOPPER, _HOPPER_VECTOR, 4800, 50, 450, 64),
    _peak("H100 80GB HBM3", _HOPPER, _HOPPER_VECTOR, 3350, 50, 450, 64),
    _peak(
        "H100 NVL",
        Rates(bf16=835, fp16=835),
        Rates(),
        3900,
        50,
        300,
        64,
    ),
    _peak(
        "H100 PCIe",
        Rates(fp64=51, tf32=378, bf16=756, fp16=756, fp8=1513, int8=1513),
        Rates(fp64=26, fp32=51, fp16=102.4),
        2000,
        50,
        300,
        64,
    ),
    _peak("A100-SXM4?-80GB", _A100, _A100_VECTOR, 2039, 40, 300, 32),
    _peak("A100 80GB PCIe", _A100, _A100_VECTOR, 1935, 40, 300, 32),
    _peak("A100-(SXM4|PCIE)-40GB", _A100, _A100_VECTOR, 1555, 40, 300, 32),
    _peak(
        "A40",
        Rates(tf32=74.8, bf16=149.7, fp16=149.7, int8=299.3),
        Rates(fp32=37.4, fp16=37.4),
        696,
        6,
        56.25,
        32,
    ),
    _peak(
        "A10",
        Rates(tf32=62.5, bf16=125, fp16=125, int8=250),
        Rates(fp32=31.2, fp16=31.2),
        600,
        6,
        None,
        32,
    ),
    _peak(
        "L40S",
        Rates(tf32=183, bf16=362, fp16=362, fp8=733, int8=733),
        Rates(fp32=91.6, fp16=91.6),
        864,
        None,
        None,
        32,
    ),
    _peak(
        "L40",
        Rates(tf32=90.5, bf16=181, fp16=181, fp8=362, int8=362),
        Rates(fp32=90.5, fp16=90.5),
        864,
        None,
        None,
        32,
    ),
    _peak(
        "L4",
        Rates(tf32=60, bf16=121, fp16=121, fp8=242.5, int8=242.5),
        Rates(fp32=30.3, fp16=30.3),
        300,
        48,
        None,
        32,
    ),
    _peak(
        "V100-SXM2-(16|32)GB",
        Rates(fp16=125),
        Rates(fp64=7.8, fp32=15.7, fp16=31.3),
        900,
        6,
        150,
        16,
    ),
    _peak(
        "V100-PCIE-(16|32)GB", Rates(fp16=112), Rates(fp64=7, fp32=14, fp16=28.3), 900, 6, None, 16
    ),
    # The maker's own papers give 300 and 320 GB/s.
    _peak("T4", Rates(fp16=65, int8=130), Rates(fp32=8.1), None, 4, None, 16),
)
"""Half of each figure that the maker gives with sparsity or for both directions."""

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
    sparse_tensors=True,
    matrix_unit="Tensor Cores",
    matrix_names=re.compile(
        r"[hsibe](884|1688|16816|16832|16864|8816)|tensorop|[hiqw]g?mma|xmma|nvjet|_mma_"
        r"|bmm_\w+_t\d+x\d+x\d+|flash_(fwd|bwd)|fmha|cutlass.*_(tensor|sm[89]|sm1)\w*gemm|cudnn.*(tensor|sm[89]0_)"
    ),
    compute_units=say("Streaming multiprocessors"),
    record_hint=say(
        "Record with ProfilerActivity.CUDA. If you did, CUPTI reported nothing: another profiler "
        "may hold the device, or CUPTI does not fit the driver. Look for CUPTI in the job's log."
    ),
    peaks=_PEAKS,
)
"""Matrix names: cuBLAS, cuDNN and CUTLASS name the tensor instruction or its shape (``s16816``: MMA
16x8x16 into float). ``nvjet`` are cuBLAS's kernels for Hopper; the others are flash attention.

Peaks: docs/reference/vendors.md has their sources. A slice of a GPU (``… MIG 1g.5gb``) is another
device."""
