"""Traces of files, as readers and inference make them, and the texts and codes in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_privateuse1 import inference, readers
from tb_privateuse1.trace.model import Trace


def trace_of(path: Path) -> Trace:
    """Return the trace of a file of any format."""
    return inference.build_trace(readers.read(str(path)), None)


def texts(trace: Trace, rows: Any) -> list[str]:
    """Return the strings of a column."""
    return [trace.text(row) for row in rows.tolist()]


def codes(trace: Trace) -> set[str]:
    """Return the codes of a trace's findings."""
    return {finding.code for finding in trace.meta.findings}
