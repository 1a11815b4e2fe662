"""The pieces of a trace's critical path, as tests compare them."""

from __future__ import annotations

from tb_privateuse1.analysis.account.classes import NAMES
from tb_privateuse1.analysis.simulation import critical_path, dependency_graph
from tb_privateuse1.trace.model import Trace


def pieces_of(made: Trace) -> list[tuple[str, str, int, int]]:
    """Return the pieces: class, name, start and end in µs."""
    path = critical_path.find_critical_path(made, dependency_graph.build_graph(made))
    names = critical_path.piece_names(made, path)
    return [
        (NAMES[number], made.text(name), int(start) // 1000, int(end) // 1000)
        for number, name, start, end in zip(
            path.time_class, names, path.start_ns, path.end_ns, strict=True
        )
    ]
