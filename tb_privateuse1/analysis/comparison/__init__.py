"""Compare the steps of two traces."""

__all__ = [
    "items_per_step",
    "memory",
    "significance",
]
