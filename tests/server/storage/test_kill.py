"""The server is killed at the worst moments; nothing may be lost or wrong afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tb_privateuse1.discovery import catalog
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import disk_cache, worker_process
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.server.storage.conftest import but_parts
from tests.server.storage.test_store import running, until
from tests.support import make
from tests.support.held_server import HOLD, IN_READER
from tests.support.same import digest
from tests.support.server import serve
from tests.support.stored_parts import stored_parts
from tests.support.trace_files import sidecar, trace

TRACES = 4


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    for n in range(TRACES):
        trace(tmp_path / "log" / f"r{n}" / "host_1.1.pt.trace.json.gz", rank=n, name=f"aten::op{n}")
        sidecar(tmp_path / "log" / f"r{n}" / "host_1.1.kernel_event.json.gz")
    return tmp_path / "log"


def read_all(logdir: Path, folder: Path, jobs: int) -> list[str]:
    made = Store(jobs, folder)
    found = [
        digest(made.trace(files)) for files in catalog.scan(str(logdir), READERS).files.values()
    ]
    made.close()
    return found


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("where", ["parsing", "writing", "storing a part", "evicting"])
def test_killed_while(
    where: str, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, mark = tmp_path / "cache", tmp_path / "mark"
    fresh = read_all(logdir, tmp_path / "other", jobs=0)
    if where == "evicting":
        shutil.copytree(tmp_path / "other", folder)
        for path in list(folder.iterdir())[:1]:
            path.unlink()  # so that one is written, and there is no room for it
        monkeypatch.setenv("TB_PRIVATEUSE1_CACHE_BYTES", "1")
    command = [sys.executable, "-m", "tests.support.held_server"]
    command += [where, str(mark), str(folder), str(logdir)]
    with subprocess.Popen(command) as server:
        until(mark.exists)
        held = int(mark.read_text())
        assert (held == server.pid) == (where == "evicting")
        if where != "evicting":
            assert len(hidden(folder)) == (1 if where == "parsing" else 2)
        server.kill()
    until(lambda: not running(held))  # the reader has ended with its server
    for path in folder.glob("*.arrow"):
        assert disk_cache.read_trace(path) is not None, "what has its name is whole"
    if where == "evicting":
        assert len(list(folder.glob("*.arrow"))) == TRACES - 1
    monkeypatch.delenv("TB_PRIVATEUSE1_CACHE_BYTES", raising=False)
    assert read_all(logdir, folder, jobs=1) == fresh
    assert len(list(folder.glob("*.arrow"))) == TRACES
    assert hidden(folder) == []
    assert read_all(logdir, folder, jobs=0) == fresh  # from the cache
    for path in folder.glob("*.part"):
        assert stored_parts(path), "what has its name is whole"


@pytest.mark.parametrize("how", ["cancel", "close"])
def test_given_up_while_it_writes(
    how: str, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark, popen = tmp_path / "mark", subprocess.Popen
    code = HOLD.format(mark=str(mark)) + IN_READER["writing"]
    monkeypatch.setattr(
        worker_process.subprocess,
        "Popen",
        lambda command, **options: popen([*command[:-1], code + command[-1]], **options),
    )
    made = Store(1, tmp_path / "cache")
    files = catalog.scan(str(logdir), READERS).find()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(made.trace, files)
        until(mark.exists)
        assert len(hidden(tmp_path / "cache")) == 2
        if how == "cancel":
            assert made.cancel(files)
        made.close()
        assert isinstance(asked.exception(5), TraceError)
    assert not running(int(mark.read_text()))
    assert list((tmp_path / "cache").iterdir()) == []


def readers_of(pid: int) -> list[int]:
    """The readers that a server has started; TensorBoard has other processes too."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            command = path.with_name("cmdline").read_bytes()
            if parent == pid and b"tb_privateuse1.storage.reader_process" in command:
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_tensorboard_is_killed(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_PRIVATEUSE1_CACHE", str(tmp_path / "cache"))
    count = 200_000
    document = make.document(*[make.op("aten::mm", 2 * i, 2 * i + 1) for i in range(count)])
    (tmp_path / "log" / "large").mkdir(parents=True)
    # Not as torch names it: torch-tb-profiler, if it is there, would read it too.
    (tmp_path / "log" / "large" / "trace.json").write_text(json.dumps(document))
    with serve("--logdir", tmp_path / "log") as server:
        progress: dict[str, object] = {}

        def reading() -> bool:
            progress.update(server.plugin("overview?wait_ms=0").json)
            return progress["phase"] == "reading"

        until(reading)
        readers = readers_of(server.process.pid)
        assert readers
        os.kill(server.process.pid, signal.SIGKILL)
        until(lambda: not any(map(running, readers)))
    assert list((tmp_path / "cache").glob("*.arrow")) == []
    with serve("--logdir", tmp_path / "log") as server:
        answer = server.plugin("operators")
        assert answer.status == 200
        (row,) = answer.json["rows"]
        assert (row["name"], row["calls"], row["host_total_ns"]) == (
            "aten::mm",
            count,
            count * 1000,
        )
    assert len(but_parts(tmp_path / "cache")) == 1
