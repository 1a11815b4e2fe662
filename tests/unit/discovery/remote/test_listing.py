"""Listing files on web servers and in memory: status, times, refused names."""

from __future__ import annotations

from datetime import UTC, datetime

import fsspec
import pytest

from tb_privateuse1.discovery import remote
from tb_privateuse1.discovery.remote import RemoteError, listing
from tb_privateuse1.trace.findings import Finding
from tests.support.web import Web

CONTENT = b"x" * 10


def fill(web: Web, *names: str) -> None:
    for name in names:
        path = web.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(CONTENT)


def walked(url: str) -> tuple[dict[str, list[str]], list[Finding]]:
    """Return the names of JSON files by directory, and the warnings."""
    warnings: list[Finding] = []
    found = remote.walk(url, lambda d: d[0] != ".", lambda f: f.endswith(".json"), warnings, [])
    return {below: [remote.name(s.url) for s in files] for below, files in found}, warnings


def test_a_web_servers_directories(web: Web) -> None:
    fill(web, "a.json", "r 1/b.json", "r 1/deep/c.json", "r 1/c.txt", ".git/d.json", "r 1/%.json")
    names, warnings = walked(web.url)
    assert names == {
        ".": ["a.json"], "r 1": ["%.json", "b.json"], "r 1/deep": ["c.json"],
    }  # fmt: skip
    assert warnings == []
    assert web.asked("GET .*/$") == 3
    assert web.asked("HEAD") == 4  # no request for other files


def test_status_on_the_web(web: Web) -> None:
    fill(web, "a b.json")
    path = web.folder / "a b.json"
    found = remote.status(f"{web}/a%20b.json")
    assert (found.size, found.version) == (10, f"{path.stat().st_mtime_ns:x}")
    assert found.mtime_ns == int(path.stat().st_mtime) * 10**9
    assert remote.is_file(f"{web}/a%20b.json")
    assert not remote.is_file(f"{web}/")
    (web.folder / "empty").mkdir()
    assert not remote.is_file(f"{web}/empty")
    for look in (remote.status, remote.is_file):
        with pytest.raises(RemoteError, match="no file or directory") as caught:
            look(f"{web}/ghost.json")
        assert caught.value.code == "no_such_path"


HOSTILE = [
    "../secret/x.json", "sub/../../secret/x.json", "%2e%2e/secret/x.json", "..%2fsecret/x.json",
    "%2e%2e%5csecret.json", "a%00.json", "..", "../", "/secret/x.json",
    "https://elsewhere.invalid/x.json", "{web}/secret/x.json", "./", "?C=N;O=D", "#top.json",
    "x.json?y=../../secret/x.json", "//elsewhere.invalid/x.json", "javascript:alert(1).json",
]  # fmt: skip


def test_names_that_lead_out_are_refused(web: Web) -> None:
    fill(web, "log/good.json", "secret/x.json", "log/sub/y.json")
    web.links["^/log/$"] = [link.format(web=web) for link in HOSTILE]
    names, warnings = walked(f"{web}/log")
    assert set(names) == {".", "sub"}
    assert "good.json" in names["."]
    assert all("secret" not in below for below in names)
    assert web.asked("secret") == 0
    assert [warning.code for warning in warnings] == ["refused_path"]
    assert (warnings[0].count or 0) >= 4
    assert [remote.name(s.url) for s in remote.files_of(f"{web}/log", lambda f: f == "good.json")]


def test_directories_without_end_end(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(web, "log/x.json")
    deep = [0]

    def one_deeper(fs: object, path: str) -> list[dict[str, object]]:
        deep[0] += 1
        return [{"name": f"{path.rstrip('/')}/d/", "type": "directory", "size": None}]

    monkeypatch.setattr(listing, "_list", one_deeper)
    _, warnings = walked(f"{web}/log")
    assert deep[0] == listing._DEPTH
    assert [warning.code for warning in warnings] == ["too_many_directories"]


def test_a_closed_directory_is_a_warning_a_closed_root_an_error(web: Web) -> None:
    fill(web, "log/open/x.json", "log/closed/y.json")
    web.statuses["/closed/"] = 403
    names, warnings = walked(f"{web}/log")
    assert names == {".": [], "open": ["x.json"]}
    assert [warning.code for warning in warnings] == ["unreadable_directory"]
    web.statuses["/log/$"] = 401
    with pytest.raises(RemoteError) as caught:
        walked(f"{web}/log")
    assert caught.value.code == "remote_denied"


def test_a_directory_with_a_query_cannot_be_listed(web: Web) -> None:
    with pytest.raises(RemoteError) as caught:
        walked(f"{web}/log?token=SECRET")
    assert "SECRET" not in f"{caught.value.message} {caught.value.hint}"


def test_a_redirect_to_another_host_is_refused(web: Web) -> None:
    web.redirects["/log/$"] = "http://localhost:1/elsewhere/"
    with pytest.raises(RemoteError, match="another host, localhost") as caught:
        walked(f"{web}/log")
    assert caught.value.code == "remote_denied"
    fill(web, "moved/x.json")
    web.redirects = {"/old.json": "/moved/x.json"}
    assert remote.status(f"{web}/old.json").size == 10


def test_memory_lists_all_at_once_and_afresh(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RemoteError) as caught:
        walked(memory)
    assert caught.value.code == "no_such_path"
    fs = fsspec.filesystem("memory")
    for name in ("a.json", "r/b.json", "r/.hidden/c.json", "r/%20.json"):
        fs.pipe_file(f"{memory}/{name}", CONTENT)
    assert walked(memory)[0] == {".": ["a.json"], "r": ["%20.json", "b.json"]}
    fs.pipe_file(f"{memory}/r/new.json", CONTENT)
    fs.rm_file(f"{memory}/r/b.json")
    assert walked(memory)[0]["r"] == ["%20.json", "new.json"]
    assert remote.is_file(f"{memory}/a.json")
    assert not remote.is_file(memory)
    assert [s.size for s in remote.files_of(memory, lambda _: True)] == [10]


def test_a_listed_file_and_the_file_itself_are_the_same(memory: str) -> None:
    fsspec.filesystem("memory").pipe_file(f"{memory}/a.json", CONTENT)
    (listed,) = remote.files_of(memory, lambda _: True)
    assert remote.status(listed.url) == listed
    assert listed.mtime_ns > 10**18


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        (1.5, 1_500_000_000),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 10**9),
        (datetime(1970, 1, 1, 0, 0, 1), 10**9),
        ("1970-01-01T00:00:01.000001Z", 1_000_001_000),
        ("Thu, 01 Jan 1970 00:00:02 GMT", 2 * 10**9),
        ("no time", 0),
        (None, 0),
    ],
)
def test_times(value: object, ns: int) -> None:
    assert listing._unix_ns(value) == ns
    found = listing._status("s3://b/x", {"type": "file", "size": 3, "LastModified": value})
    assert found == remote.Status("s3://b/x", 3, ns, "")


def test_versions() -> None:
    info = {"type": "file", "size": 3, "ETag": 'W/"abc"'}
    assert listing._status("s3://b/x", info) == remote.Status("s3://b/x", 3, 0, "abc")
    assert listing._status("s3://b/x", {"type": "file", "size": None}) is None


def test_unsupported_urls() -> None:
    for url, says in (
        ("nofs://x/y", "no filesystem that fsspec knows"),
        ("zip://x::memory://y.zip", "within another one"),
    ):
        with pytest.raises(RemoteError, match=says) as caught:
            walked(url)
        assert caught.value.code == "remote_driver"
