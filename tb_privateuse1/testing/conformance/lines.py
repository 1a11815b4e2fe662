"""Parts of the scorecard: requirements, their answers, and the lines that are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, Literal

from tb_privateuse1.testing.conformance.subject import Subject

Verdict = Literal["ok", "warn", "fail", "unknown", "none"]
"""``none``: the requirement is of a route that this backend does not offer."""
Route = Literal["any", "events", "native"]
Language = Literal["C++", "Python"]
GUIDE = "docs/guide/bring-your-backend.md"
"""The page for vendors, in the repository."""


@dataclass(frozen=True)
class Answer:
    """The result of one check: the verdict, and what was measured, in words and as numbers."""

    verdict: Verdict
    measured: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Requirement:
    """One line of the scorecard.

    ``code`` names it in ``--only``, JSON and tests. ``consequence`` says what a recording lacks
    without it, ``remedy`` has the lines that correct it, in the vendor's ``language``: ``driver_…``
    in them is the vendor's driver.
    """

    code: str
    title: str
    consequence: str
    remedy: str
    check: Callable[[Subject], Answer]
    route: Route = "any"
    rests_on: tuple[str, ...] = ()
    """Requirements that must not fail, for this one to mean anything."""
    language: Language = "C++"
    section: str = ""
    """The section of ``GUIDE`` that has the whole of it, as an anchor; empty where none has."""

    @property
    def guide(self) -> str | None:
        """Return where the whole of the remedy is explained."""
        return f"{GUIDE}#{self.section}" if self.section else None


@dataclass(frozen=True)
class Line:
    """A requirement with its answer."""

    requirement: Requirement
    answer: Answer


def is_lacking(error: Exception) -> bool:
    """Return whether torch's guard raised, as it does for what a vendor has not implemented.

    The words are those of ``c10/core/impl/DeviceGuardImplInterface.h``.
    """
    return str(error).startswith("Backend doesn't support")


def ask(requirement: Requirement, subject: Subject, failed: Collection[str] = ()) -> Line:
    """Return the line of a requirement; never raises. ``failed``: the codes of those that did.

    A check that cannot be carried out says why, and judges nothing.
    """
    if lacking := [code for code in requirement.rests_on if code in failed]:
        return Line(requirement, Answer("none", f"rests on {lacking[0]}"))
    if requirement.route not in ("any", *subject.routes):
        return Line(requirement, Answer("none", f"no {_ROUTES[requirement.route]}"))
    try:
        return Line(requirement, requirement.check(subject))
    except Exception as error:
        said = f"{type(error).__name__}: {error}".splitlines()[0]
        if is_lacking(error):
            return Line(requirement, Answer("warn", said))
        return Line(requirement, Answer("unknown", f"could not be checked: {said}"))


_ROUTES = {"events": "ProfilerStubs", "native": "Kineto profiler that records the device"}
