"""Curves over time: utilization, queue depth, rates, memory."""

__all__ = [
    "counters",
    "curves",
    "sm_occupancy",
]
