"""Check a built trace for events that are unlinked, duplicate, crossing or impossible in time.

Each check is a file; docs/reference/definitions.md says when each fires and why. All checks are
vectorized and near linear in the number of events.
"""

from __future__ import annotations

from tb_privateuse1.inference.quality import clock, host, links, steps
from tb_privateuse1.inference.quality.check_subject import Clues, subject
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace


def collect_clues(raw: Raw, sidecar: Sidecar | None) -> Clues:
    """Return what the checks need of raw columns that do not become part of the trace."""
    return Clues(links.unmatched(raw, sidecar), host.orphans(raw))


def check_quality(trace: Trace, clues: Clues, sidecar: Sidecar | None) -> tuple[Finding, ...]:
    """Return the findings of all checks, in their order."""
    of = subject(trace, clues, sidecar)
    checks = (links.check, host.check, clock.check, steps.check)
    return tuple(finding for check in checks for finding in check(of))
