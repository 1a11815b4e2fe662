"""The registry of vendors, and which one a trace comes from. ``generic`` is last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tb_privateuse1.vendors import cuda, generic, hpu, mlu, mtia, npu, rocm, xpu
from tb_privateuse1.vendors.base import Vendor

GENERIC = generic.VENDOR
VENDORS: tuple[Vendor, ...] = (
    mtia.VENDOR,
    rocm.VENDOR,
    xpu.VENDOR,
    npu.VENDOR,
    mlu.VENDOR,
    hpu.VENDOR,
    cuda.VENDOR,
    GENERIC,
)


def detect(
    backend: str | None,
    device_names: Iterable[str] = (),
    categories: Iterable[str] = (),
    device_types: Iterable[int] = (),
    known: Sequence[Vendor] = VENDORS,
) -> Vendor:
    """The vendor of a trace by what it tells of itself, the most telling first.

    Of ``known`` the last one is taken if nothing fits, and before all, one that says nothing by
    which its traces could be told: only a user's file does so, and means every trace.
    ``backend`` is the device as torch calls it, ``device_names`` those of deviceProperties,
    ``categories`` those of the events, ``device_types`` those of the memory events. ROCm writes
    CUDA's categories and backend: so the devices' names and types come before these.
    """
    names = " ".join(device_names)
    lower = {category.lower() for category in categories}
    types = set(device_types)
    for vendor in known:
        if not vendor.is_told:
            return vendor
    for vendor in known:
        if vendor.device_names is not None and vendor.device_names.search(names):
            return vendor
    for vendor in known:
        if backend is not None and backend in vendor.backends and backend != "cuda":
            return vendor
    for vendor in known[:-1]:
        if types & set(vendor.device_types):
            return vendor
    for vendor in known:
        if lower & vendor.evidence_categories:
            return vendor
    by_name = {vendor.name: vendor for vendor in known}
    return by_name["cuda"] if backend == "cuda" else known[-1]
