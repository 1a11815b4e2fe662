"""The critical path where the timeline draws it."""

from __future__ import annotations

from tb_privateuse1.storage import derived
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.critical import Critical, critical
from tests.support.results import result
from tests.unit.analysis.simulation.test_dependency_graph import waiting


def ask(trace: Trace, **options: object) -> Critical:
    found = result(critical, trace, **options)
    assert isinstance(found, Critical)
    return found


def test_pieces_have_a_place() -> None:
    trace = waiting()
    found = ask(trace)
    assert found.found == len(found.pieces) == 9
    kinds = derived.DerivedData(trace).pyramid.tracks.kind
    latency, kernel = found.pieces[3], found.pieces[4]
    assert (kernel.time_class, kernel.name) == ("kernel", "mm")
    assert (kernel.start_ns, kernel.end_ns) == (17_000, 57_000)
    # What it waits to start is drawn before it, on its stream.
    assert (latency.track, latency.row) == (kernel.track, kernel.row)
    assert kinds[kernel.track] != kinds[found.pieces[1].track]


def test_a_window_and_a_limit() -> None:
    assert [p.name for p in ask(waiting(), start_ns=60_000, stop_ns=70_000).pieces] == ["add"]
    few = ask(waiting(), limit=2)
    assert (few.found, [p.name for p in few.pieces]) == (9, ["mm", "add"])


def test_nothing() -> None:
    assert ask(Trace()) == Critical((), 0)
