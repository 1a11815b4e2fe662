"""All ranks of a run: matched collectives, one clock, imbalance.

``collectives`` reduces a trace to what this room needs and matches calls across ranks.
``clock_alignment`` puts ranks on one clock. ``culprits`` names who keeps the others waiting:
``slow_ranks`` compares their ``own_work`` by the tests of ``chance``, ``slow_groups`` compares
links, ``missing_calls`` counts calls; ``slow_reasons`` and ``host_causes`` have the causes.
``steps`` and ``bandwidth`` make tables, ``notes`` and ``clock_notes`` report what is missing.
``open_collectives`` compares the ranks' flight recorders: ``recorder_entries``
makes one table of them, ``open_texts`` has the sentences.
"""

__all__ = [
    "arrivals",
    "bandwidth",
    "chance",
    "clock_alignment",
    "clock_notes",
    "collectives",
    "culprits",
    "job",
    "missing_calls",
    "notes",
    "open_collectives",
    "open_rows",
    "open_texts",
    "own_work",
    "recorder_entries",
    "slow_groups",
    "slow_ranks",
    "slow_reasons",
    "slow_units",
    "steps",
]
