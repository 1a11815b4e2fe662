"""Counters of a trace over time: utilization, queue depth, rates, memory, recorded ones.

``counters`` builds all curves of a trace. ``curves`` reads a window of them, ``curve_forms``
computes the values of a window's parts. ``sm_occupancy`` estimates how full the multiprocessors
were. ``recorded`` has the counters that the trace itself contains.
"""

__all__ = [
    "counters",
    "curves",
    "recorded",
    "sm_occupancy",
]
