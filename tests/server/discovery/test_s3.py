"""An S3-compatible object store, from the listing to a real TensorBoard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest

import tb_privateuse1 as tbp
from tb_privateuse1.discovery import catalog, remote
from tb_privateuse1.discovery.remote import filesystem
from tb_privateuse1.readers import READERS
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.errors import TraceError
from tests.support import s3
from tests.support.server import serve
from tests.support.trace_files import trace
from tests.support.web import until

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

LOG = "s3://bucket/log"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with s3.serve() as found:
        yield found


@pytest.fixture
def fs(address: str, logdir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket with every kind of run below LOG, for s3fs as a user configures it."""
    for name, value in s3.environment(address).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": address})
    monkeypatch.setattr(filesystem, "_servers", {})
    made = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
    made.mkdir("bucket")
    s3.upload(made, logdir, LOG)
    yield made
    made.rm("bucket", recursive=True)


def test_it_gives_what_the_local_copy_gives(fs: Any, logdir: Path, tmp_path: Path) -> None:
    here, there = tbp.open(logdir), tbp.open(LOG)
    assert there.runs.warnings == ()
    assert [r.run for r in there.runs.runs] == [r.run for r in here.runs.runs]
    assert here.overview(run="mlp") == there.overview(run="mlp")
    files = catalog.scan(LOG, READERS).find("mlp")
    assert remote.status(files.trace.path).version == files.trace.version
    made = Store(1, tmp_path / "cache")
    assert made.trace(files).meta.timeline == "inferred"
    made.close()
    one = catalog.scan(f"{LOG}/ddp/host_1.1700000000000.pt.trace.json", READERS).find()
    assert one.rank == 1


@pytest.mark.exhaustive
def test_thousands_of_files_are_listed_in_few_requests(fs: Any) -> None:
    fs.pipe({f"bucket/many/r{n % 40}/host_{n}.1.pt.trace.json": b"{}" for n in range(1200)})
    asked: list[object] = []
    found = filesystem.server_of("s3://bucket/many")
    found.call("s3://bucket/many", lambda own: own.connect())

    def count(**told: Any) -> None:
        asked.append(told["request"].url)

    client = found.call("s3://bucket/many", lambda own: own.s3)
    client.meta.events.register("before-send.s3", count)
    files = list(remote.walk("s3://bucket/many", bool, bool, [], []))
    assert len(files) == 40
    assert sum(len(own) for _, own in files) == 1200
    assert len(asked) == 2  # a thousand each


def test_live(fs: Any, tmp_path: Path) -> None:
    before = catalog.scan(LOG, READERS)
    path = trace(tmp_path / "x.json", rank=0, name="aten::grown")
    fs.pipe_file(f"{LOG}/new/host_1.1.pt.trace.json", path.read_bytes())
    fs.pipe_file(before.find("host").trace.path, path.read_bytes())
    fs.rm(f"{LOG}/mlp", recursive=True)
    after = catalog.scan(LOG, READERS)
    assert [r.run for r in after.runs.runs] == ["ddp", "host", "new", "unreadable"]
    assert after.find("ddp") == before.find("ddp")
    assert after.find("host") != before.find("host")
    assert "aten::grown" in Store(jobs=0).trace(after.find("host")).strings


def test_what_is_not_there(fs: Any) -> None:
    for url in ("s3://bucket/nothing", "s3://no-such-bucket/x"):
        with pytest.raises(TraceError, match=f"no file or directory {url}") as caught:
            catalog.scan(url, READERS)
        assert caught.value.code == "no_such_path"


def test_without_credentials(fs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(TraceError) as caught:
        catalog.scan("s3://bucket2/log", READERS)
    assert caught.value.code == "remote_credentials"
    assert caught.value.hint


def test_nobody_listens(fs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        fsspec.config.conf, "s3",
        {"endpoint_url": "http://127.0.0.1:9", "config_kwargs": {"retries": {"max_attempts": 0}}},
    )  # fmt: skip
    monkeypatch.setenv(filesystem.TIMEOUT_VARIABLE, "2")
    with pytest.raises(TraceError) as caught:
        catalog.scan("s3://bucket3/log", READERS)
    assert caught.value.code == "remote_unreachable"
    assert s3.SECRET not in f"{caught.value.message}{caught.value.hint}"


def test_tensorboard(fs: Any) -> None:
    with serve("--logdir", LOG, "--reload_interval", "1") as board:
        # Until then the process imports s3fs and botocore: seconds, and many on a busy machine.
        listed = until(lambda: board.plugin("runs").json["runs"], 90)
        until(lambda: not board.plugin("runs").json["scanning"])
        assert [r["run"] for r in listed][:1] == ["ddp"]
        answer = board.plugin("overview?run=mlp")
        assert answer.status == 200
        assert answer.json["provenance"]["timeline"] == "inferred"
        assert board.get("data/plugins_listing").json["privateuse1"]["enabled"] is True
        assert s3.SECRET not in "".join(board.log)
