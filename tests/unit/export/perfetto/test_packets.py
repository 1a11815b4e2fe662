"""Packets before the events."""

from __future__ import annotations

from tb_privateuse1.export import perfetto
from tb_privateuse1.export.time_window import Window
from tests.support import make
from tests.support.perfetto_file import exported


def test_devices_and_clocks() -> None:
    device = [{"id": 0, "name": "NVIDIA B200", "secret": "x"}]
    trace = make.trace(
        make.op("a", 0, 5, id=1), deviceProperties=device, baseTimeNanoseconds=10**18
    )
    content = exported(trace)
    assert content.gpus == ["NVIDIA B200"]
    assert content.clocks == {6: 0, 1: 10**18}


def test_only_used_names_are_written() -> None:
    trace = make.trace(make.op("used", 0, 5, id=1), make.op("later", 50, 55, id=2))
    whole = b"".join(perfetto.write(trace))
    part = b"".join(perfetto.write(trace, Window(0, 10_000)))
    assert b"later" in whole
    assert b"used" in part
    assert b"later" not in part
