"""Fixtures of remote logdirs: a directory in memory, a web server, a short time limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_privateuse1.discovery.remote.filesystem import TIMEOUT_VARIABLE
from tb_privateuse1.storage.store import Store
from tests.support import logdir as made
from tests.support.web import Web

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("aiohttp")


@pytest.fixture
def memory() -> Iterator[str]:
    """The URL of an empty directory in memory."""
    yield "memory://tests/log"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit answers to a third of a second, here and in child processes."""
    monkeypatch.setenv(TIMEOUT_VARIABLE, "0.3")


@pytest.fixture
def log(web: Web) -> Web:
    """A web server with every kind of run below /log."""
    made.write(web.folder / "log")
    return web


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    result = Store(cache_dir=tmp_path / "cache")
    yield result
    result.close()
