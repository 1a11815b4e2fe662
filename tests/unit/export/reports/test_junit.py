"""JUnit XML report of a diff."""

from __future__ import annotations

from xml.etree import ElementTree

from tb_privateuse1.export.reports import junit
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tests.unit.export.reports.test_markdown import one


def test_a_case_for_each_part_and_failures() -> None:
    result = diff(one("gemm", 25), one("gemm"))
    failed = [f for f in result.figures if f.name == "kernel"]
    suite = ElementTree.fromstring(junit.junit_report(result, failed))
    assert (suite.get("tests"), suite.get("failures")) == ("10", "1")
    assert [case.get("name") for case in suite] == [f.name for f in result.figures]
    (failure,) = suite.iter("failure")
    report = "kernel: 20.000 µs -> 25.000 µs per step, 5.000 µs (25.0 %), longer"
    assert failure.get("message") == report
    kernel = next(case for case in suite if case.get("name") == "kernel")
    assert kernel.get("time") == "0.000025000"


def test_nothing() -> None:
    suite = ElementTree.fromstring(junit.junit_report(diff(Trace(), Trace())))
    assert suite.get("failures") == "0"
