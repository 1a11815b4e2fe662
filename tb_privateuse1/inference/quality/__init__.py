"""Checks of a built trace: what in it is unlinked, doubled, crossing or impossible in time.

Each check is a file; what fires, when and why is in docs/reference/definitions.md. All of it is
vectorised, and near linear in the number of events.
"""

from __future__ import annotations

from tb_privateuse1.inference.quality import clock, host, links, steps
from tb_privateuse1.inference.quality.base import Clues, subject
from tb_privateuse1.readers.raw import Raw, Sidecar
from tb_privateuse1.trace.findings import Finding
from tb_privateuse1.trace.model import Trace


def collect_clues(raw: Raw, sidecar: Sidecar | None) -> Clues:
    """What the checks need to know of the columns that do not become the trace's."""
    return Clues(links.unmatched(raw, sidecar), host.orphans(raw))


def check_quality(trace: Trace, clues: Clues, sidecar: Sidecar | None) -> tuple[Finding, ...]:
    """All that the checks find, in their order."""
    of = subject(trace, clues, sidecar)
    checks = (links.check, host.check, clock.check, steps.check)
    return tuple(finding for check in checks for finding in check(of))
