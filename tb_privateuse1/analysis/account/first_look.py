"""Find what the timeline shows first, by threads, account and phases."""

from __future__ import annotations

from tb_privateuse1.analysis.account.classification import waits_for_python
from tb_privateuse1.analysis.recording.phases import phases
from tb_privateuse1.analysis.threads.roles import thread_roles
from tb_privateuse1.analysis.timeline.first_look import FirstLook
from tb_privateuse1.trace.model import Trace


def find_first_look(trace: Trace) -> FirstLook:
    """Return what the first picture of a trace's timeline shows."""
    found = tuple((one.kind, one.start_ns, one.end_ns) for one in phases(trace))
    return FirstLook(int(thread_roles(trace).main), waits_for_python(trace), found)
