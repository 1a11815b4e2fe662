"""What if: the dependency graph of a trace, its critical path, and replays with changes.

``dependency_graph`` builds the graph, from ``submissions`` (launches, waits), hand-offs and
``usual_latencies``. ``critical_path`` finds the events that determine a step's end. ``replay``
computes times with changed durations, ``changes`` parses what changes, and ``prediction`` gives the
saving and its bound. ``ranking`` sorts the largest savings, for long traces on an ``excerpt``.
"""

__all__ = [
    "changes",
    "critical_path",
    "dependency_graph",
    "excerpt",
    "prediction",
    "ranking",
    "submissions",
]
