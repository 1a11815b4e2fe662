"""The source of a generated kernel by an activity of it."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.recorded_metadata import KernelSources
from tb_privateuse1.views.lookups.kernel_source import KernelText, kernel_source
from tests.support.make import kernel, launch, op, trace

NAME = "triton_poi_fused_add_0"


def recording(*sources: tuple[str, str, str]) -> Trace:
    """A recording of two kernels, with sources by name, file and text."""
    t = trace(op("a", 0, 10), launch(2, 3, 1), kernel(NAME, 5, 9, 1),
              launch(4, 5, 2), kernel("other", 12, 14, 2))  # fmt: skip
    strings = (*t.strings, *(text for source in sources for text in source))
    index = np.array([[strings.index(text) for text in source] for source in sources], np.int32)
    columns = (column.copy() for column in index.reshape(-1, 3).T)
    return replace(t, strings=strings, kernel_sources=KernelSources(*columns))


def test_all_files_that_have_a_kernel_of_the_name() -> None:
    t = recording((NAME, "a.py", "one"), ("else", "a.py", "two"), (NAME, "b.py", "three"))
    found = kernel_source(t, index=0).sources
    assert found == (KernelText("a.py", "one"), KernelText("b.py", "three"))
    assert kernel_source(t, index=1).sources == ()


def test_a_row_that_is_not_there() -> None:
    assert kernel_source(trace(op("a", 0, 1))).sources == ()
    with pytest.raises(TraceError, match="2"):
        kernel_source(recording((NAME, "a.py", "one")), index=2)
