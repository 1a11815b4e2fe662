"""Operators as rows of a table: groups, sums, modules and functions.

``groups`` decides which operators share a row; ``totals`` sums calls, host and device time of a
group, ``without_operator`` the activities that no operator launched. ``kinds_of_work`` classifies
an operator by name (gemm, copy, …). ``module_of`` and ``named_regions`` find the nn.Module of a
range. ``function_names`` turns a Python frame into a function's name and finds lines of its calls,
``library_frames`` tells the frames of libraries from the user's, and ``user_functions`` finds the
function that operators, calls or times belong to. ``host_activities`` sees a processor as a device.
"""

__all__ = [
    "function_names",
    "groups",
    "host_activities",
    "kinds_of_work",
    "library_frames",
    "module_of",
    "named_regions",
    "totals",
    "user_functions",
    "without_operator",
]
