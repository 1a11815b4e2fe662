"""Write the flame graph as collapsed stacks, the format of flamegraph.pl and speedscope.

A line is ``name;name;name ns``: names from the outermost on, and the time that is the last one's
own. It is device time where there is any, else host time, as the page *Flame graph* has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tb_privateuse1.analysis.flame import tree
from tb_privateuse1.analysis.timeline import window as windows
from tb_privateuse1.export.time_window import EVERYTHING, Window
from tb_privateuse1.trace.model import Trace

_LINES = 1000
_SEPARATORS = re.compile(r"[;\s]+")


def write(trace: Trace, window: Window = EVERYTHING) -> Iterator[bytes]:
    """Yield the text. Of ranges that cross the window's limits the part inside counts."""
    part = None
    if not window.whole:
        part = windows.window_of(trace, window.start_ns or 0, window.end_ns)
    found = tree.build(trace, tree.Scope(on_device=len(trace.kernels) > 0, window=part))
    names = [_SEPARATORS.sub(" ", text) for _, text in found.labels]
    parent, label, own = found.parent.tolist(), found.label.tolist(), found.own.tolist()
    rows = np.flatnonzero(found.own > 0).tolist()
    for first in range(0, len(rows), _LINES):
        lines = []
        for row in rows[first : first + _LINES]:
            path, at = [], row
            while at >= 0:
                path.append(names[label[at]])
                at = parent[at]
            lines.append(f"{';'.join(reversed(path))} {own[row]}\n")
        yield "".join(lines).encode()
