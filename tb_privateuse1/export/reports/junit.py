"""JUnit XML report of a diff for CI servers.

It has a test case for each part of the step, and for each figure of a device's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from tb_privateuse1.analysis.comparison.memory import DiffMemory, format_amount
from tb_privateuse1.i18n.units import plain_text, with_unit
from tb_privateuse1.views.diff import Diff, DiffFigure

Judged = DiffFigure | DiffMemory


def junit_report(result: Diff, failed: Sequence[Judged] = ()) -> bytes:
    """Return the report; ``failed`` figures are failures, and times are the current ones in s."""
    suite = ElementTree.Element(
        "testsuite",
        name="tb-privateuse1 diff",
        tests=str(len(result.figures) + len(result.memory)),
        failures=str(len(failed)),
    )
    for figure in result.figures:
        seconds = (figure.now_ns or 0) / 1e9
        case = ElementTree.SubElement(
            suite, "testcase", classname="diff", name=figure.name, time=f"{seconds:.9f}"
        )
        if figure in failed:
            ElementTree.SubElement(case, "failure", message=change_text(figure))
    for size in result.memory:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"diff.memory.{plain_text(size.device)}", name=size.name
        )
        if size in failed:
            ElementTree.SubElement(case, "failure", message=change_text(size))
    xml: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


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
