"""The first bytes of files beside a trace, and of files that look like them."""

from __future__ import annotations

import pytest

from tb_privateuse1.readers.companion_heads import process_of
from tests.support.compile_logs import metrics


@pytest.mark.parametrize(
    ("text", "process"),
    [
        (b'{"schema": "1.1.0-chakra.0.0.4", "pid": 77, "nodes": [{"id": 1', 77),
        (b'\xef\xbb\xbf {"pid": "5", "schema": "1.0", "nodes": [', 5),
        (b'{"schema": "1.0", "nodes": []}', 0),
        (b'[{"id": 1, "name": "aten::mm"', 0),
        (b'[{"name": "aten::mm", "id": 1', 0),
        (b'{"schema": "1.0", "pid": 7, "edges": []}', None),
        (b'{"nodes": [{"schema": "1.0"', None),
        (b'{"traceEvents": [{"ph": "X", "pid": 7', None),
        (b"frame;frame 3\n", None),
        (metrics(pid=77).encode(), 77),
        (b'V0101 00:00:00.000000 5 a b/torch/x.py:1] {"str": ["f", 0]}', 5),
        (b"V0101 00:00:00.000000 5 torch/x.py:1] no JSON", None),
        (b'[rank0]:V0101 00:00:00.000000 5 torch/x.py:1] {"a": 1}', None),
        (b"", None),
    ],
)
def test_the_process_of_a_head(text: bytes, process: int | None) -> None:
    assert process_of(text) == process
