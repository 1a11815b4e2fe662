"""The names of ``c10::DeviceType`` (c10/core/DeviceType.h), by which memory events tell devices."""

from __future__ import annotations

from tb_privateuse1.trace.vendor import Vendor
from tb_privateuse1.vendors import VENDORS

CPU = 0
PRIVATEUSE1 = 20

_OTHERS = {
    CPU: "CPU", 2: "MKLDNN", 3: "OpenGL", 4: "OpenCL", 5: "IDEEP", 7: "FPGA", 8: "MAIA", 9: "XLA",
    10: "Vulkan", 11: "Metal", 13: "MPS", 14: "Meta", 16: "VE", 17: "Lazy", 18: "IPU",
}  # fmt: skip
"""Those that no vendor of ours has."""


def name(number: int, vendor: Vendor) -> str | None:
    """Return a type's name, the trace's vendor's own first; None for a number without one."""
    for one in (vendor, *VENDORS):
        if number in one.device_types and one.device_type_name:
            return one.device_type_name
    return _OTHERS.get(number)
