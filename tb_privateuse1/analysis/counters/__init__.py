"""Counters of a trace over time: utilization, queue depth, rates, memory, recorded ones.

``counters`` builds all curves of a trace. ``curves`` reads a window of them, ``curve_values``
computes the values of a window's parts. ``sm_occupancy`` estimates how full the multiprocessors
were. ``recorded`` has the counters that the trace itself contains, ``recorded_means`` their figures
in windows and while kernels run, ``instance_counters`` those of some activities. ``device_summary``
has the busy time of each device by family of kernels.
"""

__all__ = [
    "counters",
    "curves",
    "device_summary",
    "instance_counters",
    "recorded",
    "recorded_means",
    "sm_occupancy",
]
