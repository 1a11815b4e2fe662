"""Match collectives across ranks, align clocks, find stragglers."""

__all__ = [
    "bandwidth",
    "clock_alignment",
    "collectives",
    "notes",
    "steps",
    "stragglers",
]
