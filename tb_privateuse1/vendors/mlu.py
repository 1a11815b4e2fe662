"""Vendor: Cambricon MLU through PrivateUse1 (torch_mlu)."""

import re

from tb_privateuse1.trace.vendor import Vendor

VENDOR = Vendor(
    name="mlu",
    title="Cambricon MLU",
    backends=("mlu",),
    device_names=re.compile(r"\bmlu", re.IGNORECASE),
    communication_prefixes=("cncl",),
    operator_prefixes=("mlu",),
)
