"""Real recordings that are not in the repository, and the marker of the tests that read them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.trace.model import Trace

FOLDER = Path(__file__).parents[3] / "shared" / "traces"
TRACES = sorted(FOLDER.glob("*/*/*.pt.trace.json*"))
MORE = sorted([
    *FOLDER.glob("npu/*/trace_view.json"),
    *(FOLDER.parent / "more").rglob("*.pt.trace.json*"),
])  # fmt: skip
"""Recordings whose figures no test compares."""

Test = TypeVar("Test", bound=Callable[..., Any])

_absent = pytest.mark.skipif(not TRACES, reason="the shared traces are not here")


def needs_traces(test: Test) -> Test:
    """Return a test as one of the tier ``peers``, skipped if the recordings are not here."""
    return pytest.mark.peers(_absent(test))


def load(path: Path) -> Trace:
    """Return the trace of a file and of the sidecar beside it, if there is one."""
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    has_sidecar = beside != path and beside.exists()
    sidecar = readers_sidecar.read_sidecar(str(beside)) if has_sidecar else None
    return inference.build_trace(
        chrome.read(str(path)), sidecar, worker=path.name, files=(path.name,)
    )
