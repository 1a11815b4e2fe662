"""The allocator counts, tells the profiler, and reuses memory only when nothing needs it."""

import gc
import json
from typing import Any

import pytest
import refdevice
import torch
from torch.profiler import ProfilerActivity

SIZE = 1024  # floats, so that blocks need no rounding


@pytest.fixture
def memory_events(tmp_path):
    """Profiles what a function does and gives the trace's memory events of the device."""

    def run(work):
        with torch.profiler.profile(
            activities=[ProfilerActivity.CPU], profile_memory=True
        ) as profile:
            work()
            torch.refdev.synchronize()
        profile.export_chrome_trace(str(tmp_path / "trace.json"))
        events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
        kind: Any = torch._C._autograd.DeviceType.PrivateUse1
        device_type = int(kind)
        return [
            event["args"]
            for event in events
            if event["name"] == "[memory]" and event["args"]["Device Type"] == device_type
        ]

    return run


def test_every_change_is_reported(memory_events):
    def work():
        x = torch.empty(SIZE, device="refdev")
        y = x + 1
        del x, y
        torch.empty(SIZE // 2, device="refdev:1")

    before = torch.refdev.memory_allocated()
    events = memory_events(work)
    first = [event for event in events if event["Device Id"] == 0]
    assert [event["Bytes"] for event in first] == [4 * SIZE, 4 * SIZE, -4 * SIZE, -4 * SIZE]
    totals = [event["Total Allocated"] - before for event in first]
    assert totals == [4 * SIZE, 8 * SIZE, 4 * SIZE, 0]
    assert all(event["Total Reserved"] >= event["Total Allocated"] for event in events)
    second = [event["Bytes"] for event in events if event["Device Id"] == 1]
    assert second == [2 * SIZE, -2 * SIZE]


def test_a_free_is_reported_when_the_host_frees(memory_events):
    """Not when the queued kernel is done, on a thread that no profiler looks at."""
    refdevice.configure(kernel_fixed_ns=1_000_000)

    def work():
        for _ in range(20):
            torch.ones(SIZE, device="refdev").add_(1)

    sizes = [event["Bytes"] for event in memory_events(work)]
    assert sizes == [4 * SIZE, -4 * SIZE] * 20


def test_statistics():
    gc.collect()
    torch.refdev.synchronize()
    before = torch.refdev.memory_allocated()
    torch.refdev.reset_peak_memory_stats()
    x = torch.empty(SIZE, device="refdev")
    y = torch.empty(1, device="refdev")
    assert torch.refdev.memory_allocated() - before == 4 * SIZE + 512
    del x, y
    assert torch.refdev.memory_allocated() == before
    assert torch.refdev.max_memory_allocated() - before == 4 * SIZE + 512
    torch.refdev.empty_cache()
    assert before <= torch.refdev.memory_reserved() <= before + 4 * SIZE + 512


def test_freed_memory_is_used_again():
    x = torch.empty(12_345, device="refdev")
    address = x.data_ptr()
    del x
    assert torch.empty(12_345, device="refdev").data_ptr() == address


def test_out_of_memory():
    with pytest.raises(torch.OutOfMemoryError, match="refdev: out of memory"):
        torch.empty(1 << 40, device="refdev")
