"""Find when the main thread waits while a worker works, such as autograd's thread."""

from __future__ import annotations

from tb_privateuse1.analysis.threads import roles
from tb_privateuse1.analysis.threads.hand_offs import Turns, join_turns
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace


@memoize
def find_turns(trace: Trace) -> Turns:
    """Return the hand-offs between the main thread and the workers that take turns with it."""
    found = roles.thread_roles(trace)
    return join_turns(found.turns)
