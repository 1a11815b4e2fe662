"""Huawei Ascend through PrivateUse1 (torch_npu)."""

import re

from tb_privateuse1.vendors.base import Vendor

VENDOR = Vendor(
    name="npu",
    title="Huawei Ascend",
    backends=("npu",),
    device_names=re.compile(r"ascend", re.IGNORECASE),
    product_multiple=16,
)
