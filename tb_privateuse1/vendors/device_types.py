"""Names of ``c10::DeviceType`` (c10/core/DeviceType.h), the device type of memory events."""

from __future__ import annotations

from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS

CPU = 0
PRIVATEUSE1 = 20

_OTHERS = {
    CPU: "CPU", 2: "MKLDNN", 3: "OpenGL", 4: "OpenCL", 5: "IDEEP", 7: "FPGA", 8: "MAIA", 9: "XLA",
    10: "Vulkan", 11: "Metal", 13: "MPS", 14: "Meta", 16: "VE", 17: "Lazy", 18: "IPU",
}  # fmt: skip
"""Types without a registered vendor."""


def name(number: int, vendor: Vendor) -> str | None:
    """Return a type's name, first that of the trace's vendor; None for an unknown number."""
    for candidate in (vendor, *VENDORS):
        if number in candidate.device_types and candidate.device_type_name:
            return candidate.device_type_name
    return _OTHERS.get(number)
