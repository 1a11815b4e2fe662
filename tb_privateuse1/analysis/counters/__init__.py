"""Counters of a trace over time: utilization, queue depth, rates, memory.

``counters`` builds all curves of a trace. ``curves`` reads a window of them, ``curve_forms``
computes the values of a window's parts. ``sm_occupancy`` estimates how full the multiprocessors
were.
"""

__all__ = [
    "counters",
    "curves",
    "sm_occupancy",
]
