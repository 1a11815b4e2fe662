"""Device activities: rows of a table, and the accuracy of their times.

``groups`` decides which kernels share a row, and which of them use a matrix unit.
``inference_limits`` lists the causes of error of an inferred timeline, and advice against each.
``time_groups`` says what an activity belongs to: operator, module, line of source, annotation.
"""

__all__ = [
    "groups",
    "inference_limits",
    "time_groups",
]
