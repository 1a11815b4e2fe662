from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1 import ingest, runs
from tb_privateuse1.store import Store
from tests.tracefiles import sidecar, trace

SLOW = """
import time
from tb_privateuse1 import ingest
read = ingest.chrome.read
def slow(path, progress):
    progress("reading", 1, 4, 7)
    while not {done}.exists():
        time.sleep(0.02)
    return read(path, progress)
ingest.chrome.read = slow
"""


@pytest.fixture
def files(tmp_path: Path) -> runs.Files:
    trace(tmp_path / "log" / "r" / "host_1.1.pt.trace.json.gz", rank=3)
    sidecar(tmp_path / "log" / "r" / "host_1.1.kernel_event.json.gz")
    return runs.scan(str(tmp_path / "log")).find()


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Readers that wait, after a first report, until this file exists."""
    done = tmp_path / "done"
    code = "from pathlib import Path\n" + SLOW.format(done=f"Path({str(done)!r})")
    popen = subprocess.Popen

    def slowed(command: list[str], **options: object) -> object:
        return popen([*command[:-1], code + command[-1]], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(ingest.subprocess, "Popen", slowed)
    return done


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Store]:
    result = Store(cache_dir=tmp_path / "cache")
    yield result
    result.close()
