"""Put the log of compilation on the trace's clock, if it is known which log is of the process."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.i18n import say
from tb_privateuse1.readers.raw import KernelSource, Raw
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.recorded_metadata import LEAST_UNIX_NS, Compilations, CompileNotes


class Joined(Struct, frozen=True):
    """The tables of the trace's log: empty without one, or if several fit."""

    compilations: Compilations
    notes: CompileNotes
    sources: tuple[KernelSource, ...]


def joined(raw: Raw, base_ns: int) -> Joined:
    """Return the only log of the trace's process, with times since ``base_ns``.

    They are ``MISSING`` where the trace's clock is no Unix time.
    """
    if len(raw.compile_logs) != 1:
        return Joined(Compilations.empty(), CompileNotes.empty(), ())
    (log,) = raw.compile_logs
    start = log.compilations.start_ns
    known = (start != MISSING) & (base_ns > LEAST_UNIX_NS)
    start = np.where(known, start - (base_ns if base_ns > LEAST_UNIX_NS else 0), MISSING)
    return Joined(replace(log.compilations, start_ns=start), log.notes, log.sources)


def findings(raw: Raw) -> tuple[Finding, ...]:
    """Return the finding of several logs that may be of the process."""
    if len(raw.compile_logs) < 2:
        return ()
    message = say(
        "{count} compile logs may be of this process: {name} is one of them.",
        count=len(raw.compile_logs),
        name=raw.compile_logs[0].name,
    )
    hint = say("None of them is used. Keep the one that was written with this recording.")
    return (Finding("compile_log_other", message, hint, len(raw.compile_logs), "info"),)
