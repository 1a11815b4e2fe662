"""Compare the names of steps: those of a program that repeats can be paired."""

from __future__ import annotations

from tb_privateuse1.analysis.recording.window import Window


def same_steps(one: Window, other: Window) -> bool:
    """Return whether both windows compare steps of the same names in the same order."""
    names = [
        [window.trace.text(name) for name in window.trace.steps.name[window.compared_steps]]
        for window in (one, other)
    ]
    return names[0] == names[1]
