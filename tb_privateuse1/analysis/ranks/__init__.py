"""All ranks of a run: matched collectives, one clock, imbalance.

``collectives`` reduces a trace to what this room needs and matches calls across ranks.
``clock_alignment`` puts ranks on one clock. ``culprits`` names who keeps the others waiting:
``slow_ranks`` compares their ``own_work`` by the tests of ``chance``, ``slow_groups`` compares
links, ``missing_calls`` counts calls; ``slow_reasons`` and ``host_causes`` have the causes.
``steps`` and ``bandwidth`` make tables, ``notes`` and ``clock_notes`` report what is missing.
``open_collectives`` compares the ranks' flight recorders: ``recorder_entries`` makes one table of
them, ``open_texts`` has the sentences. ``group_parts`` reduces a trace to what figures by process
group need; ``axes`` sorts the groups by ``axis_names`` and calls, ``group_sums`` sums them, and
``axis_rows``, ``node_rows``, ``pipeline_stages`` and ``expert_rows`` make tables.
"""

__all__ = [
    "arrivals",
    "axes",
    "axis_names",
    "axis_rows",
    "bandwidth",
    "chance",
    "clock_alignment",
    "clock_notes",
    "collectives",
    "culprits",
    "expert_rows",
    "group_parts",
    "group_sums",
    "job",
    "missing_calls",
    "node_rows",
    "notes",
    "open_collectives",
    "open_rows",
    "open_texts",
    "own_work",
    "pipeline_stages",
    "recorder_entries",
    "slow_groups",
    "slow_ranks",
    "slow_reasons",
    "slow_units",
    "steps",
]
