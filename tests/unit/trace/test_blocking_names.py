"""Names of calls that wait, one by one and all at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_privateuse1.trace import blocking_names

PARTS = (
    "sync",
    "SYNC",
    "hronize",
    "cudaStream",
    "wait",
    "WaitFor",
    "w\u0131",
    "\u017f",
    "ync",
    "_",
)


@given(st.lists(st.lists(st.sampled_from(PARTS), max_size=4).map("".join)))
def test_all_names_at_once(names: list[str]) -> None:
    assert blocking_names.blocking(names) == [*map(blocking_names.blocks, names)]
