"""Capture sees no rank of the launcher that runs the tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.delenv("WORLD_SIZE", raising=False)
