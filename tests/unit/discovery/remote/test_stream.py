"""Reading remote files in ranges: few requests, retries and time limits."""

from __future__ import annotations

import gzip
import random
import time

import fsspec
import pytest

from tb_privateuse1.discovery.remote import RemoteError, open_url, stream
from tb_privateuse1.discovery.remote.filesystem import server_of
from tb_privateuse1.readers.decompress import Source
from tests.support.web import Web, until

DATA = random.Random(7).randbytes(3_000_000)


@pytest.fixture(params=["ranges", "no ranges", "memory"])
def url(request: pytest.FixtureRequest, web: Web, memory: str) -> str:
    """A file of DATA in several places."""
    if request.param == "memory":
        fsspec.filesystem("memory").pipe_file(f"{memory}/x.json", DATA)
        return f"{memory}/x.json"
    (web.folder / "x.json").write_bytes(DATA)
    web.ranges = request.param == "ranges"
    return f"{web}/x.json"


def test_it_reads_as_a_local_file(url: str) -> None:
    with open_url(url) as file:
        assert file.read(2) == DATA[:2]
        assert file.seek(0, 2) == len(DATA)
        assert file.read(5) == b""
        assert file.seek(0) == 0
        assert b"".join(iter(lambda: file.read(1 << 20), b"")) == DATA
        assert file.tell() == len(DATA)
        for at in (2_999_990, 17, 1_500_000, 1_499_000):
            file.seek(at)
            assert file.read(100) == DATA[at : at + 100]
    with open_url(url) as file:
        assert file.read() == DATA


def test_an_empty_file(web: Web) -> None:
    (web.folder / "x.json").write_bytes(b"")
    with open_url(f"{web}/x.json") as file:
        assert file.read() == b""


@pytest.mark.long
def test_a_head_is_one_small_request_and_a_whole_file_few(web: Web) -> None:
    (web.folder / "x.json").write_bytes(DATA)
    with open_url(f"{web}/x.json", len(DATA)) as file:
        assert file.read(2) == DATA[:2]
        file.seek(0)
        assert file.read(60_000) == DATA[:60_000]
    assert [(method, span) for method, _, span in web.requests] == [("GET", "bytes=0-65535")]
    web.requests.clear()
    with open_url(f"{web}/x.json", len(DATA)) as file:
        assert file.read(1) == DATA[:1]
        time.sleep(0.1)
        assert len(web.requests) == 1  # nothing ahead before it is read on
        while file.read(1 << 20):
            pass
    assert len(web.requests) == 6  # 64, 128, 256, 512, 1024 kB and the rest
    assert web.sent < 1.1 * len(DATA)


@pytest.mark.long
def test_without_ranges_a_head_does_not_cost_the_file(web: Web) -> None:
    big = web.folder / "x.json"
    big.write_bytes(b"{" * 50_000_000)
    web.ranges = False
    with open_url(f"{web}/x.json", big.stat().st_size) as file:
        assert file.read(2) == b"{{"
    assert web.sent < 20_000_000  # what the system holds between two processes


def test_the_next_block_comes_while_one_is_used(web: Web) -> None:
    (web.folder / "x.json").write_bytes(DATA)
    with open_url(f"{web}/x.json", len(DATA)) as file:
        file.read(70_000)  # the second block
        until(lambda: len(web.requests) == 3)
        assert web.requests[2][2] == "bytes=196608-458751"


def test_a_connection_that_breaks_once_is_retried(
    web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    (web.folder / "x.json").write_bytes(DATA)
    web.breaks, web.after = "x.json", 1_000_000
    monkeypatch.setattr(stream.time, "sleep", lambda _: setattr(web, "breaks", ""))
    with open_url(f"{web}/x.json") as file:
        assert file.read() == DATA


@pytest.mark.long
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("packed", [True, False])
def test_a_lost_server_is_not_a_truncated_trace(web: Web, ranges: bool, packed: bool) -> None:
    (web.folder / "x.json").write_bytes(gzip.compress(DATA) if packed else DATA)
    web.ranges, web.breaks, web.after = ranges, "x.json", 1_000_000
    source = Source(f"{web}/x.json")
    with pytest.raises(RemoteError) as caught:
        for _ in source.blocks():
            pass
    assert caught.value.code == "remote_unreachable"
    assert source.fault is None


@pytest.mark.long
def test_a_hanging_server_times_out(web: Web, hurried: None) -> None:
    (web.folder / "x.json").write_bytes(DATA)
    (web.folder / "y.json").write_bytes(b"y")
    web.hangs = "x.json"
    for _ in range(3):
        with pytest.raises(RemoteError, match=r"no answer|0\.3 seconds") as caught:
            open_url(f"{web}/x.json")
        assert caught.value.passing
    with open_url(f"{web}/y.json") as file:  # other files do not wait
        assert file.read() == b"y"


@pytest.mark.long
def test_a_driver_that_never_returns_costs_its_host_only(hurried: None, memory: str) -> None:
    import threading

    stuck = server_of("memory://stuck/x")
    go = threading.Event()
    try:
        for _ in range(10):  # more than it has threads
            with pytest.raises(RemoteError, match=r"within 0\.3 seconds"):
                stuck.call("memory://stuck/x", lambda fs: go.wait(30))
        fsspec.filesystem("memory").pipe_file(f"{memory}/x.json", b"x")
        with open_url(f"{memory}/x.json") as file:
            assert file.read() == b"x"
    finally:
        go.set()
    until(lambda: stuck.call("memory://stuck/x", lambda fs: True))


def test_a_deleted_file(web: Web) -> None:
    (web.folder / "x.json").write_bytes(DATA)
    with open_url(f"{web}/x.json") as file:
        file.read(10)
        (web.folder / "x.json").unlink()
        with pytest.raises(RemoteError) as caught:
            file.read()
    assert caught.value.code == "no_such_path"


def test_source_reads_packed_and_plain(web: Web) -> None:
    text = b'{"n": 1}' * 100_000
    states: list[tuple[object, ...]] = []
    for name, data in (("a.json", text), ("a.json.gz", gzip.compress(text))):
        (web.folder / name).write_bytes(data)
        source = Source(f"{web}/{name}", lambda *state: states.append(state))
        assert b"".join(source.blocks()) == text
        assert states[-1] == ("reading", len(data), len(data), 0)
