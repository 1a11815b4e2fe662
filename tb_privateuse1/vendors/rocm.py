"""AMD GPUs through roctracer or rocprofiler. torch calls them cuda too; memory events say HIP."""

import re

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.vendor import Peak, Vendor

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
    product_multiple=8,
    matrix_unit="Matrix Cores",
    matrix_names=re.compile(
        r"_MI\d+x\d+x\d+_|mfma|wmma|xdl|gtcx|matmul_ogs|^attn_(fwd|bwd)|flash_(fwd|bwd)|fmha",
        re.IGNORECASE,
    ),
    compute_units=say("Compute units"),
    peaks=(
        Peak(re.compile(r"\bMI325X$"), 1307, 6000),
        Peak(re.compile(r"\bMI300X$"), 1307, 5300),
        # Per die, since torch counts both dies as devices. ``MI250X / MI250`` is ambiguous.
        Peak(re.compile(r"^[^/]*\bMI250X$"), 191.5, 1600),
        Peak(re.compile(r"^[^/]*\bMI250$"), 181, 1600),
        Peak(re.compile(r"\bMI210$"), 181, 1600),
    ),
)
"""Matrix names: Tensile writes the matrix instruction (``MI16x16x4x1``), composable kernel ``xdl``,
MIOpen ``gtcx``; attention is AOTriton's. Peaks: docs/reference/vendors.md has their sources.
"""
