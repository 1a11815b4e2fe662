"""The account of time: every nanosecond of a window in exactly one class.

``classes`` names the classes. ``classification`` divides the recording of a device:
``host_activity`` and ``host_chain`` say what the host did while nothing ran on the device.
``table`` sums the intervals of a window, with the largest of each class, and finds the call and the
function with most of a time; ``bounds`` has the share that idle time leaves;
``idle_by_operator`` sums idle time by the operator that ends it, ``top_lists`` has the operators
and kernels with the most time, ``calls_without_launches`` finds the host's calls that launch
nothing, ``own_python`` the program's own Python without operators, and ``state_writes`` those that
copy tensors and write them. ``first_look`` finds which tracks the timeline shows first.
"""

__all__ = [
    "bounds",
    "calls_without_launches",
    "class_intervals",
    "classes",
    "classification",
    "first_look",
    "host_activity",
    "host_chain",
    "idle_by_operator",
    "own_python",
    "state_writes",
    "table",
    "top_lists",
]
