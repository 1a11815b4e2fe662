"""Pure functions of a Trace, by subject.

The rooms import in this order: steps, timeline, operators, work, kernels, roofs, memory, idle,
counters, ranks, simulation, comparison.
"""

__all__ = [
    "comparison",
    "counters",
    "idle",
    "kernels",
    "memory",
    "operators",
    "ranks",
    "roofs",
    "simulation",
    "steps",
    "timeline",
    "work",
]
