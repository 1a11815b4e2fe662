"""Pure functions of a Trace, by subject.

The rooms import in this order: steps, timeline, operators, kernels, memory, idle, counters, ranks,
simulation, comparison.
"""

__all__ = [
    "comparison",
    "counters",
    "idle",
    "kernels",
    "memory",
    "operators",
    "ranks",
    "simulation",
    "steps",
    "timeline",
]
