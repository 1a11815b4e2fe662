"""The account of time: every nanosecond of a window in exactly one class.

``classes`` names the classes. ``stretches`` divides the recording of a device: ``host_activity``
and ``host_chain`` say what the host did while nothing ran on the device. ``table`` sums the
stretches of a window, with the largest of each class, and finds the call and the function with
most of a time; ``awaited`` sums idle time by the operator
that ends it, ``top_lists`` has the operators and kernels with the most time, ``work_apart`` finds
the host's calls that launch nothing, and ``state_writes`` those that copy tensors and write them.
"""

__all__ = [
    "awaited",
    "bounds",
    "classes",
    "host_activity",
    "host_chain",
    "pieces",
    "state_writes",
    "stretches",
    "table",
    "top_lists",
    "work_apart",
]
