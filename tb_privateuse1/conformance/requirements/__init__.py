"""The requirements, in the order of the scorecard: what the others rest on comes first."""

from tb_privateuse1.conformance.lines import Requirement
from tb_privateuse1.conformance.requirements import (
    elapsed_kind,
    elapsed_unit,
    known_durations,
    known_starts,
    registered,
    renamed,
    stubs_called,
)

__all__ = ["KNOWN", "REQUIREMENTS"]

REQUIREMENTS: tuple[Requirement, ...] = (
    renamed.REQUIREMENT,
    registered.REQUIREMENT,
    stubs_called.REQUIREMENT,
    elapsed_unit.REQUIREMENT,
    elapsed_kind.REQUIREMENT,
    known_durations.REQUIREMENT,
    known_starts.REQUIREMENT,
)
KNOWN = {known_durations.REQUIREMENT.code, known_starts.REQUIREMENT.code}
"""Those that need work of known length to be recorded."""
