"""A difference as JUnit XML, which CI servers show: a test case for each part of the step, and
for each figure of a device's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from tb_privateuse1.analysis.comparison.memory import DiffMemory, amount
from tb_privateuse1.i18n.units import plain, worded
from tb_privateuse1.views.diff import Diff, DiffFigure

Judged = DiffFigure | DiffMemory


def diff(result: Diff, failed: Sequence[Judged] = ()) -> bytes:
    """``failed`` are failures; the time of a case is what it takes now, in s."""
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
            ElementTree.SubElement(case, "failure", message=told(figure))
    for size in result.memory:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"diff.memory.{plain(size.device)}", name=size.name
        )
        if size in failed:
            ElementTree.SubElement(case, "failure", message=told(size))
    xml: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


def told(figure: Judged) -> str:
    """A change in one line."""
    share = worded("change_share", figure.change_share)
    if isinstance(figure, DiffMemory):
        told = (amount(figure.unit, one) for one in (figure.base, figure.now, figure.change))
        before, now, change = told
        name = f"{figure.name} of {plain(figure.device)}"
    else:
        before, now = worded("base_ns", figure.base_ns), worded("now_ns", figure.now_ns)
        name, change = figure.name, worded("change_ns", figure.change_ns)
    return f"{name}: {before} -> {now} per step, {change} ({share}), {figure.verdict}"
