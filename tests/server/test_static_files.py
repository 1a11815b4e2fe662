"""The static handler, attacked: nothing but the bundle's own files can be had."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from werkzeug.test import Client, TestResponse
from werkzeug.wrappers import Request, Response

from tb_privateuse1.server import static_files
from tb_privateuse1.trace.errors import TraceError

HASHED = "assets/app-C9WBo5U2.js"


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle with something secret beside it."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.js").write_text("export function render() {}" + " " * 2000)
    (folder / HASHED).write_text("console.log('é')")
    (folder / "assets" / "licenses.md").write_text("# Licenses")
    (folder / "sources.sha256").write_text("0")
    (tmp_path / "secret.js").write_text("secret")
    (folder / "assets" / "link.js").symlink_to(tmp_path / "secret.js")
    monkeypatch.setattr(static_files, "BUNDLE", folder)
    return folder


def get(path: str, **headers: str) -> TestResponse:
    @Request.application
    def application(request: Request) -> Response:
        return static_files.respond(request, path)

    return Client(application).get("/", headers=headers)


def test_the_entry_is_asked_for_anew(bundle: Path) -> None:
    answer = get("index.js")
    assert answer.status_code == 200
    assert answer.data == (bundle / "index.js").read_bytes()
    assert answer.content_type == "text/javascript; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-cache"
    assert "ETag" not in answer.headers  # werkzeug's 304 would have no Content-Type


@pytest.mark.usefixtures("bundle")
def test_hashed_files_are_kept() -> None:
    assert get(HASHED).headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert get("assets/licenses.md").headers["Cache-Control"] == "no-cache"


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize("path", ["index.js", HASHED, "assets/licenses.md"])
def test_every_file_has_its_policy_and_type(path: str) -> None:
    headers = get(path).headers
    assert headers["Content-Security-Policy"] == "default-src 'self'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Type"].startswith("text/")
    assert headers["Vary"] == "Accept-Encoding"


def test_packed_for_those_who_unpack(bundle: Path) -> None:
    packed = get("index.js", accept_encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == (bundle / "index.js").read_bytes()
    assert int(packed.headers["Content-Length"]) < 100
    for refused in ("identity", "gzip;q=0"):
        plain = get("index.js", accept_encoding=refused)
        assert "Content-Encoding" not in plain.headers
        assert plain.data == (bundle / "index.js").read_bytes()


def test_a_new_build_is_served(bundle: Path) -> None:
    get("index.js")
    (bundle / "index.js").write_text("// new")
    assert get("index.js").data == b"// new"


@pytest.mark.usefixtures("bundle")
@pytest.mark.parametrize(
    "path",
    [
        "../secret.js",
        "assets/../../secret.js",
        "assets/../index.js",
        "..\\secret.js",
        "assets\\..\\..\\secret.js",
        "/etc/passwd",
        "//etc/passwd",
        "C:/secret.js",
        "C:secret.js",
        "index.js\0",
        "index.js/",
        "./index.js",
        ".hidden.js",
        "assets",
        "assets/",
        "",
        "none.js",
        "sources.sha256",
        "assets/link.js",
        "index.js\n",
    ],
)
def test_nothing_else_can_be_had(path: str) -> None:
    with pytest.raises(TraceError) as caught:
        static_files.respond(Request({}), path)
    assert caught.value.code == "unknown_file"


def test_without_a_bundle_the_page_says_so(bundle: Path) -> None:
    (bundle / "index.js").unlink()
    answer = get("index.js")
    assert answer.status_code == 200
    assert "export function render()" in answer.text
    assert "make build" in answer.text
    assert answer.headers["Cache-Control"] == "no-cache"
