"""What nobody uses any more goes back to the system."""

from __future__ import annotations

import sys
import threading

import pytest

from tb_privateuse1.trace import freed_memory
from tb_privateuse1.trace.memory_budget import MemoryBudget

WAIT_S = 20


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_without_glibc_nothing_happens(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    freed_memory._function.cache_clear()
    assert not freed_memory.use_few_heaps()
    assert not freed_memory.give_back()
    freed_memory._function.cache_clear()


class Owner:
    """An owner of values."""


def test_a_look_gives_back_what_it_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    budget, owner, emptied = MemoryBudget(), Owner(), threading.Event()

    def give_back() -> bool:
        if not budget.keys(owner):
            emptied.set()
        return True

    monkeypatch.setattr(freed_memory, "give_back", give_back)
    budget.compute(owner, "a", lambda: 1)
    budget.drop_when_idle(0.0)
    assert emptied.wait(WAIT_S)
    budget.drop_when_idle(None)
