"""Brackets by columns are those of a plain loop with a stack per thread."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.readers import brackets

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5), st.booleans()), max_size=60)


def plain(events: list[tuple[int, int, bool]]) -> list[int]:
    found = [-1] * len(events)
    stacks: dict[int, list[int]] = {}
    for at in sorted(range(len(events)), key=lambda i: (events[i][1], i)):
        thread, _, is_end = events[at]
        stack = stacks.setdefault(thread, [])
        if not is_end:
            stack.append(at)
        elif stack:
            found[stack.pop()] = at
    return found


@given(EVENTS)
def test_ends_close_what_began_last(events: list[tuple[int, int, bool]]) -> None:
    thread, ts, is_end = zip(*events, strict=True) if events else ((), (), ())
    found = brackets.match(
        np.array(thread, np.int32), np.array(ts, np.int64), np.array(is_end, np.bool_)
    )
    assert found.tolist() == plain(events)
