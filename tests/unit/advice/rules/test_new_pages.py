"""Pages that the system clears again and again, and page faults that are something else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rules.new_pages import RULE
from tb_privateuse1.trace.model import Trace
from tests.support.program import found
from tests.support.sized import FP32, SizedProgram, recorded

SIDE, STEPS, PAGE = 1024, 3, 4096
PAGES = SIDE * SIDE * 4 // PAGE
"""Of one result."""
COST_NS = 2000
ADD_US = 8000.0
SHARE = PAGES * COST_NS / (ADD_US * 1000)


def noted(**others: Any) -> dict[str, Any]:
    """What a capture notes of a thread whose results all come in new pages."""
    faults = STEPS * PAGES
    system_ns = faults * COST_NS
    return {
        "faults": faults,
        "thread_faults": faults,
        "thread_system_ns": system_ns,
        "thread_user_ns": round(STEPS * ADD_US * 1000) - system_ns,
        "growth_bytes": 0,
        "page_bytes": PAGE,
        "page_ns": COST_NS,
        "allocator": "glibc 2.36",
    } | others


def trace(pages: Any, name: str = "aten::add", side: int = SIDE, around: str = "") -> Trace:
    """Steps of one operator on a host."""
    run = SizedProgram()
    inputs = recorded(((side, side), FP32), ((side, side), FP32))
    for _ in range(STEPS):
        with run.step():
            if around:
                with run.around(around, 2, **recorded(((side, side), FP32))):
                    run.op(name, ADD_US, **inputs)
            else:
                run.op(name, ADD_US, **inputs)
            run.rest(5)
    return run.trace(**({} if pages is None else {"memory_pages": pages}))


def test_results_in_new_pages_take_the_time_that_these_take() -> None:
    (row,) = found(RULE, trace(noted()))
    assert row.saving_share == pytest.approx(SHARE, rel=0.02)
    assert row.confidence == "medium"
    assert f"{PAGES:,} pages of 4.000 KiB a step" in row.explanation
    assert "2.0 µs each" in row.explanation


def test_threads_of_an_operator_map_their_pages_beside_each_other() -> None:
    own = STEPS * PAGES // 2
    user_ns = round(STEPS * ADD_US * 1000) - own * COST_NS
    pages = noted(thread_faults=own, thread_system_ns=own * COST_NS, thread_user_ns=user_ns)
    (row,) = found(RULE, trace(pages))
    assert row.saving_share == pytest.approx(SHARE / 2, rel=0.02)


def test_pages_take_as_much_longer_as_the_thread_was_held_up() -> None:
    half = round(STEPS * ADD_US * 1000 / 2) - STEPS * PAGES * COST_NS
    (row,) = found(RULE, trace(noted(thread_user_ns=half)))
    assert row.saving_share == pytest.approx(2 * SHARE, rel=0.02)


def test_pages_that_no_result_explains_are_the_upper_end() -> None:
    faults = 2 * STEPS * PAGES
    pages = noted(faults=faults, thread_faults=faults, thread_system_ns=faults * COST_NS,
                  thread_user_ns=round(STEPS * ADD_US * 1000) - faults * COST_NS)  # fmt: skip
    (row,) = found(RULE, trace(pages))
    assert row.saving_share == pytest.approx(SHARE, rel=0.02)
    assert row.saving_high_share is not None
    assert row.saving_high_share >= 2 * SHARE * 0.98
    assert (row.saving_low_share, row.confidence) == (0, "low")


def test_while_the_memory_still_grows_nothing_is_sure() -> None:
    """As where a program writes its state to memory: who maps the pages is not known."""
    stays = STEPS * PAGES // 5
    faults = STEPS * PAGES + stays
    pages = noted(faults=faults, thread_faults=faults, growth_bytes=stays * PAGE)
    (row,) = found(RULE, trace(pages))
    assert (row.saving_low_share, row.confidence) == (0, "low")


def test_time_in_the_system_for_other_things_is_no_page() -> None:
    """As of a program that reads files: pages cost what they cost."""
    (row,) = found(RULE, trace(noted(thread_system_ns=10**9, thread_user_ns=0)))
    assert row.saving_share == pytest.approx(SHARE, rel=0.02)
    few = noted(faults=100, thread_faults=100, thread_system_ns=10**7)
    assert found(RULE, trace(few)) == []


def test_a_copy_writes_what_the_operator_around_it_has_allocated() -> None:
    (row,) = found(RULE, trace(noted(), "aten::copy_", around="aten::clone"))
    assert row.saving_share == pytest.approx(SHARE, rel=0.02)


def test_steps_without_a_recording_tell_what_the_profiler_hides() -> None:
    """While torch records, its own small blocks keep what would be given back."""
    hidden = noted(growth_bytes=STEPS * PAGES * PAGE)
    usual = {"steps": 2, "faults": 2 * PAGES, "growth_bytes": 0}
    assert found(RULE, trace(hidden)) == []
    (row,) = found(RULE, trace(hidden | {"usual": usual}))
    assert row.saving_share == pytest.approx(SHARE, rel=0.02)
    assert found(RULE, trace(noted(usual=usual | {"faults": 0}))) == []
    assert found(RULE, trace(hidden | {"usual": usual | {"steps": 1}})) == []


@pytest.mark.parametrize(
    "pages",
    [
        noted(growth_bytes=STEPS * PAGES * PAGE),  # a cache that is filled for good
        noted(faults=0, thread_faults=0),
        noted(allocator="jemalloc"),
        noted(allocator=None),
    ],
)
def test_memory_that_stays(pages: dict[str, Any]) -> None:
    assert found(RULE, trace(pages)) == []


@pytest.mark.parametrize(("name", "side"), [("aten::add_", SIDE), ("aten::add", 64)])
def test_pages_without_large_results_are_something_else(name: str, side: int) -> None:
    """Such as mapped files, or pages that a fork shares: nothing was freed."""
    assert found(RULE, trace(noted(), name, side)) == []


@pytest.mark.parametrize(
    "pages",
    [
        None,
        "damaged",
        {"faults": 1},
        noted(page_ns=0),
        noted(faults=-1),
        noted(faults=10**400),
        noted(growth_bytes=-(10**400)),
        noted(usual={"steps": 3, "faults": -1, "growth_bytes": 0}),
        noted(usual={"steps": 10**400, "faults": 1, "growth_bytes": 0}),
    ],
)
def test_without_the_data_nothing_was_looked_at(pages: Any) -> None:
    (status,) = advise(trace(pages), rules=[RULE]).asked
    assert status.answer == "not_asked"
    assert any("page faults" in one for one in status.lacks)


def test_a_device_has_memory_of_its_own() -> None:
    run = SizedProgram()
    for _ in range(STEPS):
        with run.step():
            run.run("aten::add", ((SIDE, SIDE), FP32), ((SIDE, SIDE), FP32))
    assert found(RULE, run.trace(memory_pages=noted())) == []


def test_its_settings_are_those_that_each_glibc_takes() -> None:
    """Up to 2.34, M_MMAP_THRESHOLD beyond 32 MiB is refused, and the other alone maps all anew."""
    settings = dict(re.findall(r"(MALLOC_\w+)=(\d+)", RULE.fix))
    assert set(settings) == {"MALLOC_MMAP_MAX_", "MALLOC_TRIM_THRESHOLD_"}
    assert settings["MALLOC_MMAP_MAX_"] == "0"


def test_an_operator_that_waits_makes_no_page_slower() -> None:
    """One of a program's own may read a file or wait for another rank, without a processor."""
    run = SizedProgram()
    inputs = recorded(((SIDE, SIDE), FP32), ((SIDE, SIDE), FP32))
    for _ in range(STEPS):
        with run.step():
            run.op("my::fetch", 2 * ADD_US)
            run.op("aten::add", ADD_US, **inputs)
            run.rest(5)
    (row,) = found(RULE, run.trace(memory_pages=noted()))
    assert row.saving_share == pytest.approx(SHARE / 3, rel=0.02)
