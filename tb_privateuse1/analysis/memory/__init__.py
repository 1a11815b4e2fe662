"""Allocations, their owners and categories, and totals over time."""

__all__ = [
    "allocations",
    "by_operator",
    "categories",
    "devices",
]
