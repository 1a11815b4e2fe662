"""Real recordings that are not in the repository, and the marker of the tests that read them."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tb_privateuse1 import inference
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.storage import disk_cache, file_identity
from tb_privateuse1.trace.model import Trace

FOLDER = Path(__file__).parents[3] / "shared" / "traces"
_STORED = Path(__file__).parents[2] / "build" / "test-traces"
TRACES = sorted(FOLDER.glob("*/*/*.pt.trace.json*"))
MORE = sorted([
    *FOLDER.glob("npu/*/trace_view.json"),
    *(FOLDER.parent / "more").rglob("*.pt.trace.json*"),
])  # fmt: skip
"""Recordings whose figures no test compares."""

_PLACES = {path: "/".join(path.parts[-3:]) for path in (*TRACES, *MORE)}

Test = TypeVar("Test", bound=Callable[..., Any])

_absent = pytest.mark.skipif(not TRACES, reason="the shared traces are not here")


def needs_traces(test: Test) -> Test:
    """Return a test as one of the tier ``peers``, skipped if the recordings are not here."""
    return pytest.mark.peers(_absent(test))


def recording_of(item: pytest.Item) -> str | None:
    """Return the name of the recording that a test has as its parameter; None if it has none."""
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return next((_PLACES[it] for it in parameters if isinstance(it, Path) and it in _PLACES), None)


@functools.lru_cache(maxsize=1)
def load(path: Path) -> Trace:
    """Return the trace of a shared recording and of the sidecar beside it, if there is one.

    It is read once for each state of the files and of the code that reads them, and kept in
    ``build/test-traces``: a dozen tests ask each recording. Those that have it as a parameter run
    one after another (``tests/conftest.py``) on one trace, with what was analyzed of it.
    """
    content = [file_identity.engine_version(), str(path)]
    content += [f"{f.stat().st_size} {f.stat().st_mtime_ns}" for f in (path, _sidecar(path)) if f]
    stored = _STORED / (hashlib.sha256(repr(content).encode()).hexdigest()[:32] + ".arrow")
    if (trace := disk_cache.read_trace(stored)) is None:
        stored.parent.mkdir(parents=True, exist_ok=True)
        trace = read(path)
        disk_cache.write_trace(trace, stored)
    return trace


def read(path: Path) -> Trace:
    """Return the same, read from the files at each call."""
    beside = _sidecar(path)
    sidecar = readers_sidecar.read_sidecar(str(beside)) if beside else None
    return inference.build_trace(
        chrome.read(str(path)), sidecar, worker=path.name, files=(path.name,)
    )


def _sidecar(path: Path) -> Path | None:
    beside = Path(str(path).replace(".pt.trace.", ".kernel_event."))
    return beside if beside != path and beside.exists() else None
