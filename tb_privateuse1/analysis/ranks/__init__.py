"""All ranks of a run: matched collectives, one clock, imbalance.

``collectives`` reduces a trace to what this room needs and matches calls across ranks.
``clock_alignment`` puts ranks on one clock. ``stragglers`` finds ranks that the others wait for,
with ``host_causes`` for the reason. ``steps`` and ``bandwidth`` make tables, ``notes`` reports what
is missing. ``open_collectives`` compares the ranks' flight recorders: ``recorder_entries``
makes one table of them, ``open_texts`` has the sentences. ``group_parts`` reduces a trace to what
figures by process group need; ``axes`` sorts the groups by ``axis_names`` and calls, ``group_sums``
sums them, and ``axis_rows``, ``node_rows``, ``pipeline_stages`` and ``expert_rows`` make tables.
"""

__all__ = [
    "axes",
    "axis_names",
    "axis_rows",
    "bandwidth",
    "clock_alignment",
    "collectives",
    "expert_rows",
    "group_parts",
    "group_sums",
    "node_rows",
    "notes",
    "open_collectives",
    "open_rows",
    "open_texts",
    "pipeline_stages",
    "recorder_entries",
    "steps",
    "stragglers",
]
