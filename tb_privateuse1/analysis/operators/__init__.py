"""Group operators by name, shapes, stack, module or kind, and sum their time."""

__all__ = [
    "groups",
    "kinds_of_work",
    "module_of",
    "named_regions",
    "source_lines",
    "totals",
]
