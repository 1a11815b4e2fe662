"""Idle device time: its causes, and whether host or device limits the program.

``causes`` assigns each idle instant to one cause, and ``table`` sums the causes per step and
operator. ``bottleneck`` decides which side limits the program at each instant. ``blocking_calls``
finds calls that wait for the device, ``launch_times`` when work was handed to it.
"""

__all__ = [
    "bottleneck",
    "causes",
    "launch_times",
    "table",
]
