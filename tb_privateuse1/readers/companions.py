"""Files beside a trace that add to it, whatever their names: execution traces, logs of compilation.

The first bytes say which of them a file is, and of which process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_privateuse1.readers import compile_log, execution_trace_head

if TYPE_CHECKING:
    from tb_privateuse1.readers.raw import Raw


def process_of(text: bytes) -> int | None:
    """Return the process that such a file is of by its first bytes, 0 if it does not say it.

    None for other files.
    """
    process = execution_trace_head.process_of(text)
    return compile_log.process_of(text) if process is None else process


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with what such a file adds. Raises TraceError as its reader does."""
    from tb_privateuse1.readers import execution_trace
    from tb_privateuse1.readers.decompress import Source

    head = next(Source(path).blocks(), b"")
    if compile_log.process_of(head) is not None:
        return compile_log.add(raw, path)
    return execution_trace.add(raw, path)
