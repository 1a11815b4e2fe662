"""A later change of a file has another state: its reader waits for the end of a tick."""

from __future__ import annotations

import pytest

from tb_privateuse1.discovery import file_state

SECOND_NS = 10**9
MILLISECOND_NS = 10**6


@pytest.mark.parametrize(
    ("changed_ns", "age_ns", "waits_s"),
    [
        (10**18 + 123, 4 * MILLISECOND_NS, [0.006]),
        (10**18 + 123, SECOND_NS // 2, []),
        (10**18, SECOND_NS // 2, [1.5]),  # a clock of whole seconds
        (10**18, 2 * SECOND_NS, []),
    ],
)
def test_a_reader_waits_for_the_end_of_a_tick(
    changed_ns: int, age_ns: int, waits_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(file_state, "_state", lambda path: (1, 2, 3, 4, changed_ns))
    monkeypatch.setattr(file_state.time, "time_ns", lambda: changed_ns + age_ns)
    monkeypatch.setattr(file_state.time, "sleep", waited.append)
    assert file_state.settled_state_of(["/log/t.json"]) == {"/log/t.json": (1, 2, 3, 4, changed_ns)}
    assert waited == waits_s
