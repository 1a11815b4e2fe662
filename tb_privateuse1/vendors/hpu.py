"""Vendor: Intel Gaudi (Habana). Its bridge writes calls of the runtime as ``hpu_op``."""

import re

from tb_privateuse1.trace.peaks import Peak, Rates
from tb_privateuse1.trace.vendor import Vendor

_PEAKS = (
    Peak(
        re.compile(r"gaudi ?3$|\bhl-?325", re.IGNORECASE),
        Rates(bf16=1835, fp8=1835),
        Rates(bf16=28.7),
        3700,
        96,
        "RoCE",
        600,
        64,
    ),
    Peak(
        re.compile(r"gaudi ?2$|\bhl-?225", re.IGNORECASE),
        Rates(bf16=432),
        memory_gb_per_s=2450,
        link="RoCE",
        link_gb_per_s=300,
        host_gb_per_s=32,
    ),
)

VENDOR = Vendor(
    name="hpu",
    title="Intel Gaudi",
    backends=("hpu",),
    device_types=(15,),
    device_names=re.compile(r"gaudi|habana|\bhl-?\d{3}", re.IGNORECASE),
    evidence_categories=frozenset({"hpu_op"}),
    launch_categories=re.compile(r"(^|_)(runtime|driver)$|^hpu_op$"),
    communication_prefixes=("hccl",),
    operator_prefixes=("hpu",),
    device_type_name="HPU",
    matrix_unit="MME",
    matrix_names=re.compile(r"mme|gemm|matmul|conv", re.IGNORECASE),
    peaks=_PEAKS,
)
"""Matrix names: operators that the graph compiler puts on the matrix multiplication engine.
Peaks: docs/reference/vendors.md has their sources."""
