"""How many processes read one file."""

from __future__ import annotations

import pytest

from tb_privateuse1.storage import memory_limit, processor_count


@pytest.mark.parametrize(
    ("quotas", "expected"),
    [([], 8), (["max 100000"], 8), (["400000 100000", "max 100000"], 4), (["50000 100000"], 1)],
)
def test_processors_are_those_of_affinity_and_control_group(
    quotas: list[str], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        processor_count.os, "sched_getaffinity", lambda _: set(range(8)), raising=False
    )
    monkeypatch.setattr(memory_limit, "group_values", lambda _: quotas)
    assert processor_count.processors() == expected


@pytest.mark.parametrize(
    ("text", "readers", "expected"),
    [("", 1, 8), ("auto", 3, 2), ("auto", 9, 1), ("3", 4, 3), ("0", 1, 1), ("-2", 1, 8)],
)
def test_readers_share_the_processors(
    text: str, readers: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processor_count, "processors", lambda: 8)
    monkeypatch.setenv("TB_PRIVATEUSE1_PROCESSES", text)
    assert processor_count.processes_for_one(readers) == expected


def test_there_is_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor_count, "processors", lambda: 128)
    assert processor_count.processes_for_one(1) == 16
