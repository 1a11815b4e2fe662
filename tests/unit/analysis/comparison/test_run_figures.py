"""The figures of one recorded run that a baseline keeps."""

from __future__ import annotations

import pytest

from tb_privateuse1.analysis.comparison.run_figures import run_figures
from tests.support.make import trace
from tests.unit.analysis.comparison.test_memory import events


@pytest.mark.parametrize(("device_type", "before"), [(1, 1000), (0, 0)])
def test_the_memory_of_a_cpu_is_counted_from_the_recording_s_start(
    device_type: int, before: int
) -> None:
    """An accelerator's allocator knows all; torch's counter of the CPU keeps what it missed."""
    one = trace(*events(*[(300, 100)] * 4, device_type=device_type))
    figure = run_figures(one).metrics["memory"].figure
    assert figure.least == figure.most == before + 400
