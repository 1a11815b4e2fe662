"""Find what the timeline shows first, as far as that needs all of a recording's host activity."""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.analysis.account.classification import waits_for_python
from tb_privateuse1.analysis.recording.phases import PhaseKind, phases
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.trace.model import Trace


class TimelinePhase(Struct, frozen=True):
    """A phase of the recording."""

    kind: PhaseKind
    start_ns: int
    end_ns: int


class FirstLook(Struct, frozen=True):
    """Which tracks stand first, which are unfolded, and the strip of phases."""

    main: int
    """The row of the thread that drives the training loop; ``NONE`` without one."""
    opens_frames: bool
    """Whether its Python frames limit the steps, so that all their rows are shown."""
    phases: tuple[TimelinePhase, ...]
    """They tile the recording."""


def find_first_look(trace: Trace) -> FirstLook:
    """Return it from the roles of the threads and the account of the recording's time."""
    found = tuple(TimelinePhase(one.kind, one.start_ns, one.end_ns) for one in phases(trace))
    return FirstLook(int(thread_roles(trace).main), bool(waits_for_python(trace)), found)
