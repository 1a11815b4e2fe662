"""Simulate a trace with changes: its dependency graph, critical path and replays.

``dependency_graph`` builds the graph from ``host_points`` of host threads, ``launches_and_waits``
(launches, waits), ``stream_edges``, hand-offs and ``usual_latencies``. ``delays``
names the rest. ``critical_path`` finds the events that determine a step's end, and ``path_classes``
their classes of time. ``rank_waits`` finds how long collectives wait. ``replay`` computes times
with changed durations. ``changes`` parses what changes, and ``scopes`` has what that affects.
``assumptions`` has what a recording does not say, and ``prediction`` gives the saving as a range.
``replayed_account`` divides the time of replayed steps. ``candidates`` are what may gain;
``ranking`` sorts the largest savings. ``replayed_part`` replays the judged steps, of long traces an
``excerpt``: a block of ``equal_steps`` if there is one. ``verdict`` says what limits a recording,
by ``class_gains``.
"""

__all__ = [
    "assumptions",
    "candidates",
    "changes",
    "class_gains",
    "critical_path",
    "delays",
    "dependency_graph",
    "equal_steps",
    "excerpt",
    "host_points",
    "launches_and_waits",
    "path_classes",
    "prediction",
    "profiler_time",
    "rank_waits",
    "ranking",
    "replay",
    "replayed_account",
    "replayed_part",
    "scopes",
    "stream_edges",
    "verdict",
    "verdict_words",
]
