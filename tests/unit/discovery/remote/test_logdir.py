"""A remote logdir from the search to the view: Python, store, scanner, command line."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import fsspec
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1 import cli
from tb_privateuse1.discovery import catalog as discovery_catalog
from tb_privateuse1.discovery import roots
from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.discovery.trace_head import Heads
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.support.trace_files import sidecar, trace
from tests.support.web import Web, until

RUNS = ["ddp", "host", "mlp", "unreadable"]


def to_memory(folder: Path, url: str) -> None:
    fs = fsspec.filesystem("memory")
    for path in folder.rglob("*.json*"):
        fs.pipe_file(f"{url}/{path.relative_to(folder).as_posix()}", path.read_bytes())


def names(catalog: discovery_catalog.Catalog) -> list[str]:
    return [run.run for run in catalog.runs.runs]


@pytest.mark.long
def test_memory_and_the_local_copy_have_the_same_results(logdir: Path, memory: str) -> None:
    to_memory(logdir, memory)
    here, there = tbp.open(logdir), tbp.open(memory)
    assert there.runs.logdir == memory
    assert [r.run for r in there.runs.runs] == RUNS
    for one, other in zip(here.runs.runs, there.runs.runs, strict=True):
        for w, v in zip(one.workers, other.workers, strict=True):
            assert (w.worker, w.rank, w.rank_source) == (v.worker, v.rank, v.rank_source)
            assert [(s.label, s.bytes, s.has_sidecar) for s in w.spans] == [
                (s.label, s.bytes, s.has_sidecar) for s in v.spans
            ]
            assert all(s.modified_ns for s in v.spans)
    assert here.kernels(run="mlp") == there.kernels(run="mlp")
    assert here.overview(run="ddp", rank=1) == there.overview(run="ddp", rank=1)
    single = tbp.open(f"{memory}/mlp/worker0.1700000000002.pt.trace.json.gz")
    assert [r.run for r in single.runs.runs] == ["mlp"]
    assert single.overview() == here.overview(run="mlp")  # with its sidecar


@pytest.mark.long
def test_memory_is_read_where_it_is(logdir: Path, memory: str, store: Store) -> None:
    """The reader process has no access to this memory."""
    to_memory(logdir, memory)
    found = discovery_catalog.scan(memory, READERS)
    assert store.trace(found.find("mlp")).meta.timeline == "inferred"
    with pytest.raises(TraceError) as caught:
        store.trace(found.find("unreadable"))
    assert caught.value.code not in ("internal", "no_such_path")


def test_reload_lists_new_traces_in_memory(memory: str, tmp_path: Path) -> None:
    trace(tmp_path / "r" / "host_1.1.pt.trace.json", rank=2)
    to_memory(tmp_path, memory)
    log = tbp.open(memory)
    assert "aten::mm" in log.trace().strings
    trace(tmp_path / "r" / "host_1.1.pt.trace.json", rank=2, name="aten::renamed")
    to_memory(tmp_path, memory)
    log.reload()
    assert "aten::renamed" in log.trace().strings


@pytest.mark.long
@pytest.mark.parametrize("ranges", [True, False])
def test_a_web_server_through_the_store(log: Web, store: Store, logdir: Path, ranges: bool) -> None:
    log.ranges = ranges
    found = discovery_catalog.scan(f"{log}/log", READERS)
    assert names(found) == RUNS
    assert found.runs.warnings == ()
    local = discovery_catalog.scan(str(logdir), READERS)
    for run in ("ddp", "mlp"):
        files = found.find(run)
        there, here = store.trace(files), Store(jobs=0).trace(local.find(run))
        assert there.meta.files == here.meta.files
        assert there.meta.timeline == here.meta.timeline
        assert (there.kernels.start_ns == here.kernels.start_ns).all()
        assert "127.0.0.1" not in repr(there.meta)
    before = len(log.requests)
    assert store.trace(files, wait_s=0)
    assert len(log.requests) == before  # read files cause no further requests


@pytest.mark.long
def test_a_second_search_reads_no_heads(log: Web) -> None:
    heads = Heads(READERS)
    discovery_catalog.scan(f"{log}/log", READERS, heads=heads)
    log.requests.clear()
    assert names(discovery_catalog.scan(f"{log}/log", READERS, heads=heads)) == RUNS
    assert log.asked(r"GET .*\.json") == 0


@pytest.mark.long
def test_logdir_spec_of_local_and_remote_roots(log: Web, tmp_path: Path) -> None:
    trace(tmp_path / "here" / "host_1.1.pt.trace.json")
    spec = roots.parse_spec(f"near:{tmp_path / 'here'},far:{log}/log,{log}/log/mlp,nofs://x/y")
    found = discovery_catalog.scan("", READERS, spec)
    assert names(found) == ["far/ddp", "far/host", "far/mlp", "far/unreadable", "mlp", "near"]
    assert [warning.code for warning in found.runs.warnings] == ["remote_driver"]
    assert Store(jobs=0).trace(found.find("far/mlp")).meta.timeline == "inferred"


def test_a_root_that_holds_traces_itself(log: Web) -> None:
    assert names(discovery_catalog.scan(f"{log}/log/mlp/", READERS)) == ["mlp"]
    trace(log.folder / "log" / "mlp" / "mlp" / "host_1.1.pt.trace.json")
    assert names(discovery_catalog.scan(f"{log}/log/mlp", READERS)) == [".", "mlp"]


def test_file_urls_are_local(tmp_path: Path) -> None:
    trace(tmp_path / "a b" / "r" / "host_1.1.pt.trace.json")
    found = discovery_catalog.scan(f"file://{tmp_path}/a%20b", READERS)
    assert found.find("r").trace.path == str(tmp_path / "a b" / "r" / "host_1.1.pt.trace.json")


@pytest.mark.long
def test_a_single_trace_with_a_token(log: Web, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"{log}/log/ddp/host_1.1700000000000.pt.trace.json".replace("://", "://me:SECRET@")
    url += "?sig=SECRET"
    found = discovery_catalog.scan(url, READERS)
    assert "SECRET" not in repr(found.runs)
    assert Store(jobs=0).trace(found.find()).meta.timeline == "measured"
    assert cli.main(["view", "overview", url, "--json"]) == 0
    out, err = capsys.readouterr()
    assert "SECRET" not in out + err
    log.statuses["host_1"] = 403
    for command in (["view", "overview", url], ["merge", url, "-o", str(log.folder / "out.json")]):
        assert cli.main(command) == 2
        out, err = capsys.readouterr()
        assert "access is denied (403)" in err
        assert "SECRET" not in out + err
        assert err.count("\n") == 1


def test_no_token_in_errors_of_readers(log: Web, capsys: pytest.CaptureFixture[str]) -> None:
    (log.folder / "log" / "odd.json").write_text("[1, 2")
    url = f"{log}/log/odd.json?sig=SECRET"
    for command in (["view", "overview", url], ["merge", url, "-o", str(log.folder / "out.json")]):
        assert cli.main(command) == 2
        err = capsys.readouterr().err
        assert "odd.json" in err
        assert "SECRET" not in err


def test_merge_of_remote_traces(log: Web, tmp_path: Path) -> None:
    url = f"{log}/log/mlp/worker0.1700000000002.pt.trace.json.gz"
    assert cli.main(["merge", url, "-o", str(tmp_path / "out.json")]) == 0
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    assert [e for e in events if e.get("cat") == "device_kernel"]


@pytest.mark.long
def test_a_missing_driver_is_named(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['s3fs'] = None\n"
        "from tb_privateuse1 import cli\n"
        "sys.exit(cli.main(['view', 'overview', 's3://bucket/run']))"
    )
    for missing, needed in (("s3fs", "s3fs"), ("fsspec", '"tb-privateuse1[remote]"')):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("s3fs", missing, 1)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert f"pip install {needed}" in done.stderr
        assert done.stderr.count("\n") == 1


@pytest.mark.long
def test_scans_follow_remote_changes_and_read_nothing_twice(web: Web) -> None:
    log = web.folder / "log"
    trace(log / "a" / "host_1.1.pt.trace.json", rank=0)
    trace(log / "b" / "host_1.1.pt.trace.json", rank=0)
    found = Scanner(f"{web}/log", READERS, interval_s=0.02)
    assert found.find("a").trace.size
    web.requests.clear()
    trace(log / "c" / "host_1.1.pt.trace.json", rank=0)
    sidecar(log / "c" / "host_1.1.kernel_event.json")
    until(lambda: names(found.catalog()) == ["a", "b", "c"])
    assert found.find("c").sidecar is not None
    size = found.find("b").trace.size
    trace(log / "b" / "host_1.1.pt.trace.json", rank=0, note="grown")
    until(lambda: found.find("b").trace.size > size)
    before = found.find("b").trace.version
    trace(log / "b" / "host_1.1.pt.trace.json", rank=0, note="other")  # of the same size
    until(lambda: found.find("b").trace.version != before)
    shutil.rmtree(log / "c")
    until(lambda: names(found.catalog()) == ["a", "b"])
    assert web.asked("GET .*/a/host_1") == 0
    found.close()


@pytest.mark.long
def test_heads_that_cannot_be_read_now_are_read_later(log: Web) -> None:
    trace(log.folder / "log" / "named" / "rank3.json")
    heads = Heads(READERS)
    log.statuses["rank3.json"] = 0
    log.statuses = {r"rank3\.json": 403}
    assert names(discovery_catalog.scan(f"{log}/log", READERS, heads=heads)) == RUNS
    log.statuses.clear()
    assert names(discovery_catalog.scan(f"{log}/log", READERS, heads=heads)) == [
        "ddp",
        "host",
        "mlp",
        "named",
        RUNS[3],
    ]


def test_merge_takes_no_directory(log: Web, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["merge", f"{log}/log", "-o", str(log.folder / "out.json")]) == 2
    assert f"{log}/log is a directory" in capsys.readouterr().err
