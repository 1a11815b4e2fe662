"""Steps, the breakdown of their time, and how far off it may be."""

__all__ = [
    "bounds",
    "breakdown",
    "judged_window",
    "table",
    "training_phases",
]
