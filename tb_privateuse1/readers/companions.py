"""Add what lies beside a trace under any name: execution traces, and logs of compilation."""

from __future__ import annotations

from tb_privateuse1.readers import companion_heads, compile_log, execution_trace
from tb_privateuse1.readers.decompress import Source
from tb_privateuse1.readers.raw import Raw


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with what such a file adds. Raises TraceError as its reader does."""
    head = next(Source(path).blocks(), b"")
    if companion_heads.log_process(head) is not None:
        return compile_log.add(raw, path)
    return execution_trace.add(raw, path)
