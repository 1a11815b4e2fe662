"""JUnit XML for CI servers, and the report of a diff in it.

A diff has a test case for each part of the step, and for each figure of a device's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from msgspec import Struct

from tb_privateuse1.analysis.comparison.memory import DiffMemory, format_amount
from tb_privateuse1.i18n.units import plain_text, with_unit
from tb_privateuse1.views.diff import Diff, DiffFigure

Judged = DiffFigure | DiffMemory


class Case(Struct, frozen=True):
    """A test case; ``failure`` is its message, ``skipped`` the reason why nothing was judged."""

    classname: str
    name: str
    time_ns: float | None = None
    failure: str | None = None
    skipped: str | None = None


def junit_suite(name: str, cases: Sequence[Case]) -> bytes:
    """Return a report with one suite; times are in seconds."""
    failures, skipped = (
        sum(getattr(case, field) is not None for case in cases) for field in ("failure", "skipped")
    )
    counts = {"tests": len(cases), "failures": failures, "skipped": skipped}
    suite = ElementTree.Element(
        "testsuite", {"name": name, **{k: str(v) for k, v in counts.items()}}
    )
    for case in cases:
        element = ElementTree.SubElement(
            suite, "testcase", classname=case.classname, name=case.name
        )
        if case.time_ns is not None:
            element.set("time", f"{case.time_ns / 1e9:.9f}")
        if case.failure is not None:
            ElementTree.SubElement(element, "failure", message=case.failure)
        if case.skipped is not None:
            ElementTree.SubElement(element, "skipped", message=case.skipped)
    xml: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


def junit_report(result: Diff, failed: Sequence[Judged] = ()) -> bytes:
    """Return the report; ``failed`` figures are failures, and times are the current ones in s."""

    def failure(figure: Judged) -> str | None:
        return change_text(figure) if figure in failed else None

    times = (Case("diff", one.name, one.now_ns or 0, failure(one)) for one in result.figures)
    sizes = (
        Case(f"diff.memory.{plain_text(one.device)}", one.name, failure=failure(one))
        for one in result.memory
    )
    return junit_suite("tb-privateuse1 diff", [*times, *sizes])


def change_text(figure: Judged) -> str:
    """Return a change in one line."""
    share = with_unit("change_share", figure.change_share)
    if isinstance(figure, DiffMemory):
        amounts = (
            format_amount(figure.unit, one) for one in (figure.base, figure.now, figure.change)
        )
        before, now, change = amounts
        name = f"{figure.name} of {plain_text(figure.device)}"
    else:
        before, now = with_unit("base_ns", figure.base_ns), with_unit("now_ns", figure.now_ns)
        name, change = figure.name, with_unit("change_ns", figure.change_ns)
    return f"{name}: {before} -> {now} per step, {change} ({share}), {figure.verdict}"
