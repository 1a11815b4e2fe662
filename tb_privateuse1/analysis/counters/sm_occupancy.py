"""How full the device's multiprocessors were, by what CUPTI tells of each kernel's launch.

The estimate is that of torch-tb-profiler: at each instant the blocks per multiprocessor of all
kernels that run, of which one is enough to keep a multiprocessor from being empty; so 1 at most.
A kernel of which nothing is told counts as none.
"""

from __future__ import annotations

import numpy as np

from tb_privateuse1.analysis.counters import curve_forms
from tb_privateuse1.analysis.counters.curve_forms import Floats
from tb_privateuse1.analysis.kernels import groups
from tb_privateuse1.trace.model import KERNEL, Kernels, Trace
from tb_privateuse1.trace.table import I32, I64


def resident_share(trace: Trace, kernels: Kernels) -> curve_forms.Mean | None:
    """The share of a device's multiprocessors that hold blocks; ``kernels`` are those of one
    device. None if nothing tells.
    """
    blocks = _told(trace, kernels, trace.configs.blocks_per_sm)
    known = np.isfinite(blocks) & (kernels.kind == KERNEL) & (kernels.end_ns > kernels.start_ns)
    if not known.any():
        return None
    return curve_forms.mean(kernels.start_ns[known], kernels.end_ns[known], blocks[known])


def sm_efficiency(trace: Trace, kernels: Kernels, start_ns: I64, end_ns: I64) -> float | None:
    """That share over windows that do not overlap, on average over the devices that tell."""
    window = int((end_ns - start_ns).sum())
    device = trace.lanes.device[kernels.lane]
    each = [resident_share(trace, kernels.take(device == one)) for one in np.unique(device)]
    found = [float(one.area_ns(start_ns, end_ns).sum()) / window for one in each if one and window]
    return sum(found) / len(found) if found else None


def occupancy(trace: Trace, kernels: Kernels) -> float | None:
    """The occupancy that CUPTI estimates, 0 to 1: the mean over kernels that tell, weighted by
    their durations. None if there are none.
    """
    told = _told(trace, kernels, trace.configs.occupancy) / 100
    known = np.isfinite(told) & (kernels.end_ns > kernels.start_ns)
    if not known.any():
        return None
    return float(np.average(told[known], weights=(kernels.end_ns - kernels.start_ns)[known]))


def _told(trace: Trace, kernels: Kernels, strings: I32) -> Floats:
    """The number of each kernel's configuration; nan where it has none."""
    numbers = np.append(groups.parse_numbers(trace, strings), np.nan)
    return numbers[kernels.config]
