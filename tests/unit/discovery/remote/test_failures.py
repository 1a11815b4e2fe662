"""Failures of remote logdirs: each affects only its own files, with a clear error."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import fsspec
import pytest

from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery import scanner
from tb_privateuse1.discovery.file import File
from tb_privateuse1.discovery.formats import Format
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.discovery.remote.filesystem import TIMEOUT_VARIABLE
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage import ingest
from tb_privateuse1.storage.jobs import Pending
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding
from tests.support.trace_files import trace
from tests.support.web import Web, until

RUNS = ["ddp", "host", "mlp", "unreadable"]


def names(catalog: discovery_catalog.Catalog) -> list[str]:
    return [run.run for run in catalog.runs.runs]


@pytest.mark.parametrize(
    ("status", "code"), [(401, "remote_denied"), (403, "remote_denied"), (404, "no_such_path"),
                         (500, "remote_unreachable")],
)  # fmt: skip
def test_a_refusal_is_one_clear_error(log: Web, status: int, code: str) -> None:
    log.statuses["/log"] = status
    with pytest.raises(TraceError) as caught:
        discovery_catalog.scan(f"{log}/log", READERS)
    assert caught.value.code == code
    found = Scanner(f"{log}/log", READERS, interval_s=0)
    with pytest.raises(TraceError) as again:
        found.find()
    assert again.value.code in (code, "unknown_run")
    assert [warning.code for warning in found.catalog().runs.warnings] == [code]
    found.close()


@pytest.mark.long
def test_a_broken_connection_fails_one_trace_until_it_is_opened_again(
    log: Web, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = discovery_catalog.scan(f"{log}/log", READERS).find("ddp")
    log.breaks, log.after = "host_0", 1000
    with pytest.raises(TraceError, match="host_0") as caught:
        store.trace(files)
    assert caught.value.code == "remote_unreachable"
    assert "127.0.0.1" not in caught.value.message
    assert store.trace(
        discovery_catalog.scan(f"{log}/log", READERS).find("mlp")
    )  # others can be read
    log.breaks = ""
    monkeypatch.setattr("tb_privateuse1.storage.failure_cache._RETRY_S", 0)
    assert store.trace(files).meta.timeline == "measured"


def test_a_trace_that_changes_while_it_is_read_is_not_cached(log: Web) -> None:
    files = discovery_catalog.scan(f"{log}/log", READERS).find("ddp")
    path = log.folder / "log" / "ddp" / files.trace.name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(TraceError, match="has changed") as caught:
        ingest.ingest(files)
    assert caught.value.code == "remote_changed"


def test_a_deleted_sidecar_is_not_a_lack_of_device_times(log: Web) -> None:
    """Until the next search, which knows that it is gone."""
    files = discovery_catalog.scan(f"{log}/log", READERS).find("mlp")
    assert files.sidecar is not None
    log.statuses["kernel_event"] = 503
    with pytest.raises(TraceError) as caught:
        ingest.ingest(files)
    assert caught.value.code == "remote_unreachable"


@pytest.mark.long
def test_a_hanging_server_blocks_no_request(
    log: Web, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TIMEOUT_VARIABLE, "4")
    found = Scanner(f"{log}/log", READERS, interval_s=0.05)
    files = found.find("ddp")
    log.hangs = "."
    with pytest.raises(Pending):  # a caller that waited would get the error
        store.trace(files, wait_s=0)
    assert found.catalog().runs.runs
    with pytest.raises(TraceError) as caught:
        store.trace(files)
    assert caught.value.code == "remote_unreachable"
    until(lambda: found.catalog().runs.warnings)
    assert found.catalog().runs.warnings[0].code == "remote_unreachable"
    assert names(found.catalog()) == RUNS  # what is known stays
    log.hangs = ""
    log.go.set()
    until(lambda: not found.catalog().runs.warnings)
    assert names(found.catalog()) == RUNS
    found.close()


@pytest.mark.parametrize("interval_s", [0, 0.05])
def test_an_unreachable_server_is_tried_again(
    log: Web, monkeypatch: pytest.MonkeyPatch, interval_s: float
) -> None:
    monkeypatch.setattr(scanner, "_AGAIN_S", 0.05)
    log.statuses["."] = 503
    found = Scanner(f"{log}/log", READERS, interval_s=interval_s)
    with pytest.raises(TraceError) as caught:
        found.find()
    assert caught.value.code == "remote_unreachable"
    assert not found.is_active()
    log.statuses.clear()
    until(found.is_active)
    assert names(found.catalog()) == RUNS
    found.close()


@pytest.mark.long
@pytest.mark.parametrize("refused", ["/mlp/$", "/mlp/.*trace"], ids=["directory", "files"])
def test_runs_of_a_directory_that_cannot_be_read_stay(log: Web, refused: str) -> None:
    found = Scanner(f"{log}/log", READERS, interval_s=0.05)
    assert found.find("mlp")
    log.statuses[refused] = 403
    asked = log.asked(refused.removesuffix("$"))
    until(lambda: log.asked(refused.removesuffix("$")) > asked + 8)
    assert names(found.catalog()) == RUNS
    log.statuses.clear()
    shutil.rmtree(log.folder / "log" / "mlp")
    until(lambda: names(found.catalog()) == [name for name in RUNS if name != "mlp"])
    found.close()


def test_a_root_that_cannot_be_read_keeps_no_runs_of_another_root(
    memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``…/log2`` is not below ``…/log``."""
    path = trace(tmp_path / "host_1.1.pt.trace.json")
    fs, second = fsspec.filesystem("memory"), f"{memory}2"
    for url in (f"{memory}/r", f"{second}/here", f"{second}/deleted"):
        fs.pipe_file(f"{url}/{path.name}", path.read_bytes())
    lost: list[str] = []
    listed = discovery_catalog.discovery_walk.directories

    def directories(
        root: str,
        warnings: list[Finding],
        formats: Sequence[Format],
        unread: list[str],
        **options: bool,
    ) -> Iterator[tuple[str, list[File]]]:
        if root in lost:
            raise RemoteError("remote_unreachable", "no answer")
        return listed(root, warnings, formats, unread, **options)

    monkeypatch.setattr(discovery_catalog.discovery_walk, "directories", directories)
    found = Scanner("", READERS, [("a", memory), ("b", second)], interval_s=0.02)
    assert found.find("a/r")
    assert names(found.catalog()) == ["a/r", "b/deleted", "b/here"]
    lost.append(memory)
    fs.rm(f"{second}/deleted", recursive=True)
    until(lambda: names(found.catalog()) == ["a/r", "b/here"])
    found.close()
