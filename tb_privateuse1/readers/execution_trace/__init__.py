"""Read execution traces of torch (``ExecutionTraceObserver``) beside a trace of the same process.

They have no times. What they have of each operator is joined with the trace by its Record function
id: shapes, types, strides and values of inputs, where the trace lacks them, and the tensors that it
takes and returns (``Raw.tensors``). A file of another process or window adds nothing.
Order: nodes < inputs < tensors < join.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from tb_privateuse1.discovery.file import basename
from tb_privateuse1.discovery.remote import RemoteError
from tb_privateuse1.i18n import say
from tb_privateuse1.readers.execution_trace import join
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.errors import TraceError
from tb_privateuse1.trace.findings import Finding

__all__ = [
    "complete",
]


def complete(raw: Raw, paths: Sequence[str]) -> Raw:
    """Return a trace's columns with what execution traces add; one that does not fit is a finding.

    Raises ``discovery.remote.RemoteError``.
    """
    for path in paths:
        try:
            joined = join.join(raw, path)
        except RemoteError:
            raise
        except TraceError as error:
            found = [Finding("part_unreadable", error.message, error.hint, affects=("operators",))]
        else:
            found = join.problems(path, joined)
            if joined.differing or not joined.operators:
                found = [_refused(path, joined)]
            else:
                raw = join.add(raw, joined)
        raw = dataclasses.replace(raw, findings=(*raw.findings, *found))
    return raw


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
