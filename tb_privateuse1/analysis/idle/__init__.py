"""Explain why the device is idle."""

__all__ = [
    "bottleneck",
    "causes",
    "launch_times",
    "table",
]
