"""Serving: iterations of generation, and what each does: prefill, decode or both.

``announced`` reads the annotations of engines, ``token_passes`` finds forward passes by shapes,
``iterations`` joins both with what repeats, and ``figures`` has the times of each iteration.
``phase_steps`` makes a phase a window of all views.
"""

__all__ = [
    "announced",
    "figures",
    "generations",
    "iterations",
    "phase_steps",
]
