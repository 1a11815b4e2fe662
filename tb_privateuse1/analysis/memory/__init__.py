"""Memory: blocks, their owners and purposes, and totals over time.

``allocations`` pairs allocations with releases and has the totals. ``devices`` describes and
selects devices. ``by_operator`` sums memory by operator and lists live blocks. ``categories``
guesses the purpose of a block, with ``parameter_sizes`` for parameters and optimizer state.
``by_module`` sums blocks by classes of modules. ``late_releases`` finds memory of the previous step
that fills the peak, with the storages that ``block_storages`` finds in blocks. ``remaining`` finds
what a part allocated and did not free. ``differences`` compares what is alive at two instants.
``kept_activations`` bounds the peak without recomputation.
``rank_peaks`` has what ranks are compared by. ``segments`` divides the memory of a snapshot.
"""

__all__ = [
    "allocations",
    "block_storages",
    "by_module",
    "by_operator",
    "categories",
    "devices",
    "differences",
    "kept_activations",
    "late_releases",
    "rank_peaks",
    "remaining",
    "segments",
]
