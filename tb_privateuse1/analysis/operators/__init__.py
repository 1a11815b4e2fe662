"""Operators as rows of a table: groups, sums and modules.

``groups`` decides which operators share a row; ``totals`` sums calls, host and device time of a
group, ``without_operator`` the activities that no operator launched. ``kinds_of_work`` classifies
an operator by name (gemm, copy, …). ``module_of`` and ``named_regions`` find the nn.Module of a
range.
"""

__all__ = [
    "groups",
    "kinds_of_work",
    "module_of",
    "named_regions",
    "totals",
    "without_operator",
]
