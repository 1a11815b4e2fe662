"""Check whether the allocator reports to the profiler."""

from __future__ import annotations

import torch
from torch.autograd.profiler import profile as autograd_profile

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.subject import Subject

_VALUES = 300_000
"""Float32 values of a size that nothing else has."""


def _check(subject: Subject) -> Answer:
    with autograd_profile(use_device=subject.name, use_kineto=True, profile_memory=True) as probe:
        values = torch.empty(_VALUES, device=subject.device)
        wanted = values.numel() * values.element_size()
        del values
    reports = [
        row.nbytes()
        for row in probe.kineto_results.events()
        if row.name() == "[memory]" and row.device_type().name != "CPU"
    ]
    taken = any(wanted <= size < 2 * wanted for size in reports)
    freed = any(wanted <= -size < 2 * wanted for size in reports)
    found = {"reports": len(reports)}
    if taken and freed:
        return Answer("ok", "an allocation and its end are reported", found)
    if taken:
        return Answer("warn", "allocations are reported, and not their end", found)
    return Answer("warn", "an allocation is not reported", found)


REQUIREMENT = Requirement(
    "memory",
    "the allocator reports to the profiler",
    "The page Memory is empty, and who allocates on the device is no evidence of who launches.",
    "c10::reportMemoryUsageToProfiler(  // on the thread that allocates or frees\n"
    "    pointer, bytes /* negative: freed */, total_allocated, total_reserved, device);",
    _check,
    section="memory",
)
