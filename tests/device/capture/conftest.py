"""Capture sees no rank of the launcher that runs the tests, and no device of another test."""

from __future__ import annotations

import pytest

from tb_privateuse1.capture import backend


@pytest.fixture(autouse=True)
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)


@pytest.fixture
def host_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """See no device, although another test of this process may have loaded the reference device."""
    monkeypatch.setattr(backend, "is_current", lambda: False)
