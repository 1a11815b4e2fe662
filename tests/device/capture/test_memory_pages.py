"""What the capture notes of the pages that a process maps."""

from __future__ import annotations

import ctypes
import mmap
from pathlib import Path

import pytest
from torch.profiler.profiler import ProfilerAction

from tb_privateuse1 import capture as package
from tb_privateuse1.capture.limits import process_use as capture
from tb_privateuse1.capture.limits.process_use import MemoryPages, host
from tests.support.capture import read, train, written

pytestmark = pytest.mark.filterwarnings("ignore:Warning. Profiler clears events")

PAGES = 2048


def touch() -> None:
    """Write to new pages, and give them back."""
    size = PAGES * mmap.PAGESIZE
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    first = (ctypes.c_char * size).from_buffer(pages)
    ctypes.memset(first, 1, size)
    del first
    pages.close()


def test_new_pages_are_counted_and_do_not_stay() -> None:
    pages = MemoryPages()
    host()
    pages.start()
    touch()
    pages.stop()
    noted = pages.facts
    assert noted is not None
    assert PAGES <= noted["thread_faults"] <= noted["faults"] < 2 * PAGES
    assert noted["growth_bytes"] < PAGES * mmap.PAGESIZE / 2
    assert noted["page_bytes"] == mmap.PAGESIZE
    assert 0 < noted["page_ns"] < 1_000_000
    assert noted["usual"] == {"steps": 0, "faults": 0, "growth_bytes": 0}


def test_no_more_steps_without_a_recording_are_read_than_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program may wait a million steps for its recording."""
    reads: list[int] = []
    read_one = capture._read
    monkeypatch.setattr(capture, "_read", lambda: reads.append(1) or read_one())
    pages = MemoryPages()
    for _ in range(100):
        pages.begin_step()
        pages.end_step(ProfilerAction.NONE)
    assert len(reads) <= 2 * (capture._ENOUGH + 1)
    pages.start()
    pages.stop()
    assert pages.facts is not None
    assert pages.facts["usual"]["steps"] == capture._ENOUGH


def test_steps_without_a_recording_are_counted_but_for_the_first() -> None:
    pages = MemoryPages()
    for action in (ProfilerAction.NONE, ProfilerAction.NONE, ProfilerAction.WARMUP):
        pages.begin_step()
        touch()
        pages.end_step(action)
    pages.start()
    pages.begin_step()
    touch()
    pages.end_step(ProfilerAction.RECORD)
    pages.stop()
    noted = pages.facts
    assert noted is not None
    assert noted["usual"]["steps"] == 2
    assert 2 * PAGES <= noted["usual"]["faults"] < 3 * PAGES
    pages.start()
    pages.stop()
    again = pages.facts
    assert again is not None
    assert again["usual"]["steps"] == 0


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(capture.resource, "RUSAGE_THREAD")
    pages = MemoryPages()
    pages.start()
    pages.stop()
    assert pages.facts is None


@pytest.mark.parametrize(
    ("library", "name"),
    [("libjemalloc.so.2", "jemalloc"), ("libtcmalloc_minimal.so.4", "tcmalloc")],
)
def test_the_library_that_allocates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    maps = tmp_path / "maps"
    maps.write_text(f"7f00-7f01 r-xp 00000000 00:00 1 /usr/lib/{library}\n7f02-7f03 rw-p 0 0 0\n")
    monkeypatch.setattr(capture, "_MAPS", maps)
    assert capture._allocator() == name


def test_a_recording_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MALLOC_ARENA_MAX", "2")
    host.cache_clear()
    handler = package.tensorboard_trace_handler(str(tmp_path))
    train(package.profile, on_trace_ready=handler)
    noted = read(written(tmp_path)[-1])["memory_pages"]
    assert noted["settings"]["MALLOC_ARENA_MAX"] == "2"
    assert noted["usual"]["steps"] >= 1
    assert noted["page_ns"] > 0
    host.cache_clear()
