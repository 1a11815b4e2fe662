"""Device activities as rows of a table.

``groups`` decides which kernels share a row, and which of them use a matrix unit.
"""

__all__ = [
    "groups",
]
