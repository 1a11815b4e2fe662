"""Intel Gaudi (Habana). Its bridge writes calls of the runtime as ``hpu_op``."""

import re

from tb_privateuse1.trace.vendor import Peak, Vendor

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
    peaks=(
        Peak(re.compile(r"gaudi ?3$|\bhl-?325", re.IGNORECASE), 1835, 3700),
        Peak(re.compile(r"gaudi ?2$|\bhl-?225", re.IGNORECASE), 432, 2450),
    ),
)
"""Matrix names: operators that the graph compiler puts on the matrix multiplication engine.
Peaks: docs/reference/vendors.md has their sources."""
