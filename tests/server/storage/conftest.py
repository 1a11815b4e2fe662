"""Fixtures of the store's tests: a small run, a store, and readers that wait or never end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import worker_process
from tb_privateuse1.storage.store import Store
from tests.support.trace_files import sidecar, trace

SLOW = """
import time
from tb_privateuse1.storage import ingest
read = ingest.readers.read
def slow(path, progress, *more):
    progress("reading", 1, 4, 7)
    while not {done}.exists() and {only!r} in path:
        time.sleep(0.02)
    return read(path, progress, *more)
ingest.readers.read = slow
"""


def but_parts(folder: Path) -> list[Path]:
    """Return what is in a cache directory without the parts, which only readers' processes make."""
    return [path for path in folder.iterdir() if path.suffix != ".part"]


@pytest.fixture
def files(tmp_path: Path) -> TraceFiles:
    trace(tmp_path / "log" / "r" / "host_1.1.pt.trace.json.gz", rank=3)
    sidecar(tmp_path / "log" / "r" / "host_1.1.kernel_event.json.gz")
    return catalog.scan(str(tmp_path / "log"), READERS).find()


def slowed(monkeypatch: pytest.MonkeyPatch, done: Path, only: str = "") -> None:
    code = "from pathlib import Path\n" + SLOW.format(done=f"Path({str(done)!r})", only=only)
    popen = subprocess.Popen

    def start(command: list[str], **options: object) -> object:
        return popen([*command[:-1], code + command[-1]], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(worker_process.subprocess, "Popen", start)


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Readers that wait, after a first report, until this file exists."""
    slowed(monkeypatch, tmp_path / "done")
    return tmp_path / "done"


@pytest.fixture
def stuck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader of ``files`` that never gets anywhere; others do."""
    slowed(monkeypatch, tmp_path / "never", only="host_1")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Store]:
    result = Store(cache_dir=tmp_path / "cache")
    yield result
    result.close()
