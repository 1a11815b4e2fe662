"""Kind of a recording: its phases, its workload and iterations, and its steady part.

``phases`` divides a recording into start-up, compilation, graph capture, drain, steady work and
the profiler's end. ``workload`` and ``iterations`` find what repeats. ``judged_part`` is the time
that advice covers, and ``summary`` has the sentence that says so. ``window`` is what all figures of
an answer are about. ``capture_notes`` has what the capture says of the process.
"""

__all__ = [
    "capture_and_compilation",
    "capture_notes",
    "compiled_regions",
    "durations",
    "iterations",
    "judged_part",
    "phases",
    "summary",
    "window",
]
