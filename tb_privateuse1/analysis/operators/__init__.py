"""Operators as rows of a table: groups, sums, modules and source lines.

``groups`` decides which operators share a row; ``totals`` sums calls, host and device time of a
group, ``without_operator`` the activities that no operator launched. ``kinds_of_work`` classifies
an operator by name (gemm, copy, …). ``module_of`` and ``named_regions`` find the nn.Module of a
range, and ``source_lines`` the line of the user's program; ``library_frames`` tells its frames
from those of libraries.
"""

__all__ = [
    "groups",
    "kinds_of_work",
    "library_frames",
    "module_of",
    "named_regions",
    "source_lines",
    "totals",
    "without_operator",
]
