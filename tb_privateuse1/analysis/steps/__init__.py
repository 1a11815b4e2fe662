"""Steps: where their time goes, and how far off those numbers may be.

``breakdown`` assigns each instant of a step to one part; ``table`` makes rows, averages and spreads
of them. ``bounds`` has the error bounds of inferred times. ``judged_window`` is the time that
figures cover, and ``training_phases`` finds forward, backward, optimizer and data loading.
"""

__all__ = [
    "bounds",
    "breakdown",
    "judged_window",
    "table",
    "training_phases",
]
