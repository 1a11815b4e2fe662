"""Merged call trees with the time of each node: the data of flame graphs.

``ignored`` chooses ranges that are no nodes. ``tree`` builds the tree from the outermost callers
down. ``inverted`` builds it from the callees up, and from one frame in both directions.
``compared`` merges the trees of two traces.
"""

__all__ = [
    "compared",
    "ignored",
    "inverted",
    "tree",
]
