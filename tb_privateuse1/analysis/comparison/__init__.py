"""Compare the steps of two traces.

``decomposition`` finds operators that launch more kernels in one of them. ``items_per_step`` has
the time of a trace's steps by operator, kernel or module. ``memory`` compares memory by device and
operator. ``significance`` separates changes from noise.
"""

__all__ = [
    "decomposition",
    "items_per_step",
    "memory",
    "significance",
    "trend",
]
