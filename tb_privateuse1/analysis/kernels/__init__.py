"""Group device activities."""

__all__ = [
    "groups",
]
