"""Roofs of a device, and how near its work comes to them.

``rate_types`` maps torch's data types to those that rates are given for. ``roofs`` are the peaks of
the recording's device, and the ceiling of each piece of work; ``best_rates`` takes them from the
recording where nothing else is known. ``achieved`` compares work with its ceilings, and
``step_use`` steps with the device's peak (MFU, HFU). ``rates`` joins all of it for a trace,
``operator_rates`` for its operators, and ``device_use`` for its steps;
``recomputed`` finds what activation checkpointing repeats.

``points`` groups activities for a roofline chart, ``distance`` divides their time by its distance
from the roof, and ``reach`` compares it with what such kernels reach. ``outliers`` finds slow work
without any roof: ``shape_outliers`` and ``slowdowns``, among activities that ran alone
(``undisturbed``).

``compared_calls`` times the distinct calls of a recording, and tells whose inputs fit into
another's. ``outdone_calls`` are slower than such a larger call, by more than passes over memory
take at worst.
"""

__all__ = [
    "achieved",
    "best_rates",
    "compared_calls",
    "device_use",
    "distance",
    "operator_rates",
    "outdone_calls",
    "outliers",
    "points",
    "rate_types",
    "rates",
    "reach",
    "recomputed",
    "roofs",
    "step_use",
    "work_rows",
]
