"""Estimate how full the multiprocessors were, from CUPTI's data of each kernel's launch.

As in torch-tb-profiler, it is the sum of blocks per multiprocessor of all kernels running at an
instant. It is at most 1, as one block suffices to occupy a multiprocessor. A kernel without data
counts as 0.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.counters import curve_values
from tb_privateuse1.analysis.kernels import groups
from tb_privateuse1.trace.model import KERNEL, Kernels, Trace
from tb_privateuse1.trace.table import F64, I32, I64


def resident_share(trace: Trace, kernels: Kernels) -> curve_values.Mean | None:
    """Return the share of multiprocessors that hold blocks; None without data.

    ``kernels`` are those of one device.
    """
    blocks = _numbers_of(trace, kernels, trace.configs.blocks_per_sm)
    known = np.isfinite(blocks) & (kernels.kind == KERNEL) & (kernels.end_ns > kernels.start_ns)
    if not known.any():
        return None
    return curve_values.mean(kernels.start_ns[known], kernels.end_ns[known], blocks[known])


def sm_efficiency(trace: Trace, kernels: Kernels, start_ns: I64, end_ns: I64) -> float | None:
    """Return that share over disjoint windows, averaged over the devices with data; else None."""
    window = int((end_ns - start_ns).sum())
    device = trace.lanes.device[kernels.lane]
    each = [resident_share(trace, kernels.take(device == one)) for one in np.unique(device)]
    found = [float(one.area_ns(start_ns, end_ns).sum()) / window for one in each if one and window]
    return sum(found) / len(found) if found else None


def occupancy(trace: Trace, kernels: Kernels) -> float | None:
    """Return the mean occupancy that CUPTI estimates, 0 to 1, weighted by kernel duration.

    None if no kernel has an estimate.
    """
    share = _numbers_of(trace, kernels, trace.configs.occupancy) / 100
    known = np.isfinite(share) & (kernels.end_ns > kernels.start_ns)
    if not known.any():
        return None
    return float(np.average(share[known], weights=(kernels.end_ns - kernels.start_ns)[known]))


def _numbers_of(trace: Trace, kernels: Kernels, strings: I32) -> F64:
    """Return the number in each kernel's launch configuration; nan without one."""
    numbers = np.append(groups.parse_numbers(trace, strings), np.nan)
    return numbers[kernels.config]
