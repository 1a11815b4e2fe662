"""Recognize the calls that launch kernels, whatever the runtime."""

from __future__ import annotations

import re

from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.groupby import distinct_values, named_rows
from tb_privateuse1.trace.model import KERNEL, Trace
from tb_privateuse1.trace.table import Bools

_LAUNCH = re.compile(r"launch", re.IGNORECASE)
_NO_KERNEL = re.compile(
    r"memcpy|memset|host_?func|attribute|occupancy|(get|query|set)_?[a-z]*launch", re.IGNORECASE
)


def launches_kernels(trace: Trace) -> Bools:
    """Return by row of ``launches`` whether the call launches kernels.

    It does if another call of its name did. Without any kernel, the names decide.
    """
    launches, kernels = trace.launches, trace.kernels
    calls = kernels.launch[(kernels.kind == KERNEL) & (kernels.launch >= 0)]
    names = distinct_values(launches.name[calls])
    if not len(names):
        return named_rows(trace.strings, launches.name, _is_launch)
    launching: Bools = mask_of(names, len(trace.strings))[launches.name]
    return launching


def _is_launch(name: str) -> bool:
    return bool(_LAUNCH.search(name)) and not _NO_KERNEL.search(name)
