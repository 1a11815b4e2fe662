"""All ranks of a run: matched collectives, one clock, imbalance.

``collectives`` reduces a trace to what this room needs and matches calls across ranks.
``clock_alignment`` puts ranks on one clock. ``stragglers`` finds ranks that the others wait for,
with ``host_causes`` for the reason. ``steps`` and ``bandwidth`` make tables, ``notes`` reports what
is missing. ``open_collectives`` compares the ranks' flight recorders: ``recorder_entries``
makes one table of them, ``open_texts`` has the sentences.
"""

__all__ = [
    "bandwidth",
    "clock_alignment",
    "collectives",
    "notes",
    "open_collectives",
    "open_rows",
    "open_texts",
    "recorder_entries",
    "steps",
    "stragglers",
]
