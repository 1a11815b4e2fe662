"""The inputs of a view of a logdir's recordings: one of each run and span, reduced to its part.

The answer has what is reduced by the request's deadline; without a deadline it has everything.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.discovery.catalog import Catalog, Run, Span, Worker
from tb_privateuse1.discovery.trace_files import TraceFiles
from tb_privateuse1.views.computations import Report
from tb_privateuse1.views.reduced_traces import RunRecording
from tb_privateuse1.views.request import Request
from tb_privateuse1.views.signature import reduction_of
from tb_privateuse1.views.sources import Source, await_run
from tb_privateuse1.views.sources.run_hparams import run_hparams
from tb_privateuse1.views.sources.trace_parts import Parts, Reduction

_AT_A_TIME = 4  # more would only wait for each other


class RecordingInputs(Struct, frozen=True):
    """The recordings of a logdir, the oldest first."""

    parts: Parts
    reduce: Reduction
    members: tuple[tuple[RunRecording, TraceFiles], ...]
    key: float | None
    """The deadline: another request may get more."""
    files: tuple[TraceFiles, ...] = ()
    """A canceled trace is a problem of its recording, and ends nothing."""
    keeps_deadline: bool = True

    def open(self, report: Report) -> tuple[tuple[RunRecording, ...]]:
        """Return the recordings, with the parts that are there by the deadline."""
        latest_first = [files for _, files in reversed(self.members)]
        parts = self.parts.reduce_all(
            self.reduce, latest_first, report, at_a_time=_AT_A_TIME, deadline_s=self.key
        )
        reduced = (
            replace(recording, part=part, problem=problem)
            for recording, files in self.members
            for part, problem in [parts.get(files, (None, None))]
        )
        return (tuple(reduced),)


def find_recordings(source: Source, request: Request) -> RecordingInputs:
    """Look up the recordings of the runs whose name has the text ``matching``."""
    catalog = await_run(source.catalog, None, request.deadline_s)
    every = request.options.get("ranks") == "all"
    members = _recordings(catalog, request.options.get("matching"), every=every)
    return RecordingInputs(source.parts, reduction_of(request.view), members, request.deadline_s)


def _recordings(
    catalog: Catalog, matching: str | None, *, every: bool
) -> tuple[tuple[RunRecording, TraceFiles], ...]:
    """Return the recordings of the lowest rank of each run, or of every one, the oldest first."""
    folders = {os.path.dirname(files.trace.path) for files in catalog.files.values()}
    found = [
        (_recording(run, worker, span, files, folders), files)
        for run in catalog.runs.runs
        if matching is None or matching.casefold() in run.run.casefold()
        for worker in (run.workers if every else run.workers[:1])
        for span in worker.spans
        if (files := catalog.files.get((run.run, worker.rank, span.span))) is not None
    ]
    return tuple(sorted(found, key=lambda one: one[0].span.modified_ns or 0))


def _recording(
    run: Run, worker: Worker, span: Span, files: TraceFiles, folders: Collection[str]
) -> RunRecording:
    """Return a recording that is not reduced yet; ``folders`` are those of all recordings."""
    local = not files.trace.is_remote
    hparams = run_hparams(run.run, files.trace.path, folders) if local else ()
    return RunRecording(run.run, len(run.workers), worker.rank, span, None, hparams=hparams)
