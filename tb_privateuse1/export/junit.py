"""A difference as JUnit XML, which CI servers show: a test case for each part of the step."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from tb_privateuse1.figures import worded
from tb_privateuse1.views.diff import Diff, DiffFigure


def diff(result: Diff, failed: Sequence[DiffFigure] = ()) -> bytes:
    """``failed`` are failures; the time of a case is what it takes now, in s."""
    suite = ElementTree.Element(
        "testsuite",
        name="tb-privateuse1 diff",
        tests=str(len(result.figures)),
        failures=str(len(failed)),
    )
    for figure in result.figures:
        seconds = (figure.now_ns or 0) / 1e9
        case = ElementTree.SubElement(
            suite, "testcase", classname="diff", name=figure.name, time=f"{seconds:.9f}"
        )
        if figure in failed:
            ElementTree.SubElement(case, "failure", message=told(figure))
    xml: bytes = ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True)
    return xml


def told(figure: DiffFigure) -> str:
    """A change in one line."""
    before, now = worded("base_ns", figure.base_ns), worded("now_ns", figure.now_ns)
    change = worded("change_ns", figure.change_ns)
    share = worded("change_share", figure.change_share)
    return f"{figure.name}: {before} -> {now} per step, {change} ({share}), {figure.verdict}"
