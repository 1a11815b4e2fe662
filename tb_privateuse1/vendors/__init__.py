"""The registry of vendors, and the detection of a trace's vendor; ``generic`` is last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from tb_privateuse1.trace.vendor import GENERIC, Vendor
from tb_privateuse1.vendors import cuda, hpu, mlu, mtia, npu, rocm, xla, xpu

__all__ = [
    "VENDORS",
    "device_types",
    "user_file",
    "words",
]

VENDORS: tuple[Vendor, ...] = (
    mtia.VENDOR,
    rocm.VENDOR,
    xpu.VENDOR,
    npu.VENDOR,
    mlu.VENDOR,
    hpu.VENDOR,
    xla.VENDOR,
    cuda.VENDOR,
    GENERIC,
)


def detect(
    backend: str | None,
    device_names: Iterable[str] = (),
    categories: Iterable[str] = (),
    device_types: Iterable[int] = (),
    calls: Iterable[str] = (),
    known: Sequence[Vendor] = VENDORS,
) -> Vendor:
    """Return the vendor of a trace, by the strongest evidence that matches one.

    ``backend`` is torch's name of the device, ``device_names`` are those of deviceProperties,
    ``categories`` those of the events, ``device_types`` those of the memory events, ``calls`` the
    names of runtime calls: these decide who of those that share a category made it. Categories
    name the runtime that ran the device, while one memory event may be of any device. A backend
    that several vendors share is weaker evidence. Calls alone are the weakest: torch 1.8 wrote
    them under ``Runtime``, whatever the device. Without a match the last of ``known`` is returned.
    A vendor without evidence, which only a user's file describes, means every trace.
    """
    names = " ".join(device_names)
    groups = {category.lower() for category in categories}
    types = set(device_types)
    for vendor in known:
        if not vendor.has_evidence:
            return vendor
    for vendor in known:
        if vendor.device_names is not None and vendor.device_names.search(names):
            return vendor
    for vendor in known:
        if backend in vendor.backends and not vendor.shares_backend:
            return vendor
    named = tuple(calls)
    called = [
        vendor
        for vendor in known
        if any(call.startswith(vendor.runtime_prefixes) for call in named)
    ]
    for vendor in called:
        if groups & vendor.shared_categories:
            return vendor
    for vendor in known:
        if groups & vendor.shared_categories and types & set(vendor.device_types):
            return vendor
    for vendor in known:
        if groups & vendor.evidence_categories:
            return vendor
    for vendor in known[:-1]:
        if types & set(vendor.device_types):
            return vendor
    for vendor in known:
        if backend in (vendor.name, *vendor.backends):
            return vendor
    return called[0] if called and backend is None else known[-1]


def words(
    role: Literal["backends", "communication_prefixes", "operator_prefixes", "runtime_prefixes"],
    own: Iterable[str],
    others: Iterable[str] = (),
) -> str:
    """Return a pattern of a role's words: a vendor's ``own``, all registered ones, and ``others``.

    All registered vendors count, because a trace mixes the names of several libraries.
    """
    registered = {word for vendor in VENDORS for word in getattr(vendor, role)}
    return "|".join(re.escape(word) for word in sorted(registered.union(own, others)))
