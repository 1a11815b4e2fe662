"""Intel GPUs through PTI."""

import re

from tb_privateuse1.vendors.base import Vendor

VENDOR = Vendor(
    name="xpu",
    title="Intel XPU",
    backends=("xpu",),
    device_types=(12,),
    device_names=re.compile(r"intel", re.IGNORECASE),
    evidence_categories=frozenset({"xpu_runtime", "xpu_driver"}),
)
