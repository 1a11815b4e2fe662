"""Recordings of a device whose times are unknown: all of them, or those of one stream."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

from tb_privateuse1 import inference
from tb_privateuse1.inference.device_timeline import elapsed_kind, event_pipeline
from tb_privateuse1.inference.device_timeline.timeline_inputs import StreamKernels
from tb_privateuse1.readers import chrome
from tb_privateuse1.readers import sidecar as readers_sidecar
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace.model import Trace

FOLDER = Path(__file__).parents[1] / "traces" / "streams"
"""Two streams that work at the same time."""


def _recorded() -> tuple[Raw, Sidecar]:
    sidecar = readers_sidecar.read_sidecar(str(next(FOLDER.glob("*.kernel_event.json.gz"))))
    return chrome.read(str(next(FOLDER.glob("*.pt.trace.json.gz")))), sidecar


@functools.cache
def refused() -> Trace:
    """The inference refuses the timeline: nothing tells which stream did what."""
    raw, known = _recorded()
    return inference.build_trace(raw, Sidecar(known.external_id, known.elapsed_ns, known.facts))


@functools.cache
def partly_refused() -> Trace:
    """The inference refuses the second of the two streams."""
    place, calls = event_pipeline.place_kernels, []

    def refuse_second(*arguments: Any) -> StreamKernels:
        work = place(*arguments)
        calls.append(work)
        if len(calls) < 2 or work.basis is None:
            return work
        return StreamKernels.none(elapsed_kind.contradiction(90, 100), work.basis)

    with mock.patch.object(event_pipeline, "place_kernels", refuse_second):
        return inference.build_trace(*_recorded())


@functools.cache
def without_times() -> Trace:
    """Nothing recorded device times."""
    return inference.build_trace(_recorded()[0], None)


KINDS: dict[str, Callable[[], Trace]] = {
    "refused": refused,
    "partly_refused": partly_refused,
    "without_times": without_times,
}
