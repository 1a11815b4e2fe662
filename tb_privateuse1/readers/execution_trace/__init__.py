"""Read execution traces of torch (``ExecutionTraceObserver``) beside a trace of the same process.

They have no times. What they have of each operator is joined with the trace by its Record function
id: shapes, types, strides and values of inputs, where the trace lacks them, and the tensors that it
takes and returns (``Raw.tensors``). A file of another process or window adds nothing.
Sources of kernels that torch saves beside the file come along.
Order: nodes < inputs < tensors < join, kernel_files.
"""

from __future__ import annotations

from msgspec.structs import replace

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.execution_trace import join, kernel_files
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import Finding

__all__ = [
    "add",
]


def add(raw: Raw, path: str) -> Raw:
    """Return a trace's columns with what an execution trace adds; if it is of others, a finding.

    Raises TraceError as ``nodes.NodeFile`` does.
    """
    joined = join.join(raw, path)
    if joined.differing or not joined.operators:
        return replace(raw, findings=(*raw.findings, _refused(path, joined)))
    found = join.problems(path, joined)
    sources = dict.fromkeys((*raw.kernel_sources, *kernel_files.kernel_sources(path)))
    return replace(
        join.add(raw, joined), findings=(*raw.findings, *found), kernel_sources=tuple(sources)
    )


def _refused(path: str, joined: join.Joined) -> Finding:
    if joined.differing:
        message = say(
            "The execution trace {name} is of another process: {count} operators of the same id "
            "differ in name or sequence number.",
            name=basename(path),
            count=joined.differing,
        )
    else:
        message = say(
            "The execution trace {name} has none of the operators of this recording.",
            name=basename(path),
        )
    hint = say(
        "Nothing of it is used. Record both with one profiler: profile(execution_trace_observer=…)."
    )
    return Finding("execution_trace_other", message, hint, severity="info")
