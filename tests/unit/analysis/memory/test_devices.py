"""Devices with memory events: their figures, and the selection of one."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.memory import allocations, devices
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import MISSING, Trace
from tests.support.make import memory, trace

CPU, CUDA = (0, 0), (1, 0)
MADE = trace(
    memory(1, 900, 900, device_type=0), memory(2, 100, 100, device_type=1),
    memory(3, 50, 150, device_type=1), memory(4, -100, 50, device_type=1),
    memory(5, 7, 99, device_type=1),
)  # fmt: skip
FOUND = allocations.memory_devices(MADE.memory)


def test_the_accelerator_is_the_default() -> None:
    """Without a selection it is the accelerator, although the CPU allocates more."""
    assert devices.choose_device(MADE, FOUND, None) == CUDA
    assert devices.choose_device(MADE, FOUND, "0/0") == CPU
    assert devices.choose_device(Trace(), [], None) is None


def test_an_unknown_device_is_refused() -> None:
    """The error names the devices of the trace."""
    with pytest.raises(TraceError) as caught:
        devices.choose_device(MADE, FOUND, "9/9")
    assert caught.value.code == "bad_option"
    assert "1/0" in str(caught.value.hint)


def test_figures_of_a_device() -> None:
    """The last event's total does not follow from its bytes: 2 of 3 changes are explained."""
    facts = devices.device_facts(MADE, CUDA)
    assert (facts.device, facts.events) == ("1/0", 4)
    assert (facts.allocated_bytes, facts.freed_bytes) == (157, 100)
    assert (facts.peak_bytes, facts.peak_reserved_bytes) == (150, None)
    assert facts.explained == pytest.approx(2 / 3)


def test_the_key_of_an_unknown_type() -> None:
    """A missing number is a question mark."""
    assert devices.device_key((int(MISSING), 1)) == "?/1"
