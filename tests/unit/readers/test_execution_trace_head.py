"""The first bytes of execution traces, and of files that look like them."""

from __future__ import annotations

import pytest

from tb_privateuse1.readers.execution_trace_head import process_of


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
        (b"", None),
    ],
)
def test_the_process_of_a_head(text: bytes, process: int | None) -> None:
    assert process_of(text) == process
