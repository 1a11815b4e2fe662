"""Vendor: AMD GPUs, which torch calls cuda too; memory events say HIP."""

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import Vendor

_MI300 = Rates(fp64=163.4, fp32=163.4, tf32=653.7, bf16=1307, fp16=1307, fp8=2614.9, int8=2614.9)
_MI300_VECTOR = Rates(fp64=81.7, fp32=163.4)
_PEAKS = (
    Peak(re.compile(r"\bMI325X$"), _MI300, _MI300_VECTOR, 6000, 256, "xGMI", 448, 64),
    Peak(re.compile(r"\bMI300X$"), _MI300, _MI300_VECTOR, 5300, 256, "xGMI", 448, 64),
    # Per die, since torch counts both dies as devices. ``MI250X / MI250`` is ambiguous.
    Peak(
        re.compile(r"^[^/]*\bMI250X$"),
        Rates(fp64=47.85, fp32=47.85, bf16=191.5, fp16=191.5, int8=191.5),
        Rates(fp64=23.95, fp32=23.95),
        1600,
        8,
    ),
    Peak(
        re.compile(r"^[^/]*\bMI250$"),
        Rates(fp64=45.25, fp32=45.25, bf16=181, fp16=181, int8=181),
        Rates(fp64=22.65, fp32=22.65),
        1600,
        8,
    ),
    Peak(
        re.compile(r"\bMI210$"),
        Rates(fp64=45.3, fp32=45.3, bf16=181, fp16=181, int8=181),
        Rates(fp64=22.6, fp32=22.6),
        1600,
        8,
        "xGMI",
        150,
        32,
    ),
)

VENDOR = Vendor(
    name="rocm",
    title="AMD ROCm",
    backends=("hip",),
    device_types=(6,),
    device_names=re.compile(r"amd|radeon|instinct", re.IGNORECASE),
    evidence_categories=frozenset({"hip_runtime", "hip_driver"}),
    shared_categories=frozenset({"cuda_runtime", "cuda_driver", "cuda_sync"}),  # Kineto's choice
    operator_prefixes=("miopen",),
    runtime_prefixes=("hip",),
    device_type_name="HIP",
    perfetto_gpu_api=5,
    sparse_tensors=True,
    matrix_unit="Matrix Cores",
    matrix_names=re.compile(
        r"_MI\d+x\d+x\d+_|mfma|wmma|xdl|gtcx|matmul_ogs|^attn_(fwd|bwd)|flash_(fwd|bwd)|fmha",
        re.IGNORECASE,
    ),
    compute_units=say("Compute units"),
    record_hint=say(
        "Record with ProfilerActivity.CUDA, which is for AMD, too. If you did, roctracer or "
        "rocprofiler reported nothing: look for them in the job's log."
    ),
    peaks=_PEAKS,
)
"""Matrix names: Tensile writes the matrix instruction (``MI16x16x4x1``), composable kernel ``xdl``,
MIOpen ``gtcx``; attention is AOTriton's. Peaks: docs/reference/vendors.md has their sources.
"""
