"""Pure functions of a Trace, by subject.

The rooms import in this order: steps, timeline, operators, work, kernels, roofs, idioms, memory,
idle, counters, ranks, simulation, comparison, flame.
"""

__all__ = [
    "comparison",
    "counters",
    "flame",
    "idioms",
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
