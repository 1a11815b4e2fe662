"""A trace's finding of a code, with its examples checked; and a trace with none."""

from __future__ import annotations

from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace
from tests.support.make import Event, kernel, launch, op, step


def found(t: Trace, code: str) -> Finding | None:
    """The finding of a code; every example must be the row that it names."""
    for finding in t.meta.findings:
        for e in finding.examples:
            table = getattr(t, e.table)
            times = table.ts_ns if e.table == "memory" else table.start_ns
            assert times[e.row] == e.start_ns
            if e.table != "memory":
                assert t.text(table.name[e.row]) == e.name
            assert e.thread
    told = [finding for finding in t.meta.findings if finding.code == code]
    assert len(told) <= 1
    return told[0] if told else None


def sure(t: Trace, code: str) -> Finding:
    finding = found(t, code)
    assert finding is not None, [f.code for f in t.meta.findings]
    assert finding.affects
    return finding


def sound() -> list[Event]:
    """Two operators that launch a kernel each, in a step."""
    return [
        step(1, 0, 100),
        op("aten::mm", 0, 10, id=1),
        launch(2, 4, 7),
        kernel("gemm", 5, 30, 7),
        op("aten::relu", 20, 30, id=2),
        launch(22, 24, 8),
        kernel("relu", 30, 40, 8),
    ]
