"""The dependency graph, its critical path, and replays with changes."""

__all__ = [
    "changes",
    "critical_path",
    "dependency_graph",
    "excerpt",
    "prediction",
    "ranking",
    "submissions",
]
