"""The source of a generated kernel, where the recording has it."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Struct

from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.lookups.event_items import check


class KernelText(Struct, frozen=True):
    """A kernel of one generated file."""

    file: str
    text: str


class KernelTexts(Struct, frozen=True):
    """The result of the lookup."""

    sources: tuple[KernelText, ...]
    """Several if files have different kernels of the same name; empty if none has it."""


def kernel_source(
    trace: Trace,
    *,
    index: Annotated[int, "row of an activity in the trace's kernels"] = 0,
) -> KernelTexts:
    """Return what the compiler wrote for the kernel of an activity.

    Raises TraceError ``unknown_row``.
    """
    kernels, sources = trace.kernels, trace.kernel_sources
    if not len(kernels):
        return KernelTexts(())
    check(trace, "kernels", index)
    rows = np.flatnonzero(sources.name == kernels.name[index]).tolist()
    return KernelTexts(
        tuple(
            KernelText(trace.text(sources.file[row]), trace.text(sources.text[row])) for row in rows
        )
    )
