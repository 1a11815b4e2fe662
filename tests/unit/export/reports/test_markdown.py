"""Markdown report of a diff."""

from __future__ import annotations

from tb_privateuse1.export.reports import markdown
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.diff import diff
from tests.support.make import kernel, step, trace


def one(name: str, us: float = 20) -> Trace:
    steps = [step(i, 1000 * i, 1000 * i + 900) for i in range(3)]
    kernels = [kernel(name, 1000 * i + 10, 1000 * i + 10 + us, i) for i in range(3)]
    return trace(*steps, *kernels)


def test_parts_and_rows() -> None:
    text = markdown.markdown_report(diff(one("gemm", 25), one("gemm"), by="kernels"))
    assert "| Part | Base | Now | Change |  | ± noise | Verdict |" in text
    assert "| kernel | 20.000 µs | 25.000 µs | 5.000 µs | 25.0 % | 0 ns | longer |" in text
    assert "| `gemm kernel` | 20.000 µs | 25.000 µs |" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {8}


def test_failed_figures_are_bold() -> None:
    result = diff(one("gemm", 25), one("gemm"))
    text = markdown.markdown_report(result, [f for f in result.figures if f.name == "kernel"])
    assert "| **kernel** |" in text
    assert "| step |" in text


def test_names_are_text() -> None:
    nasty = "k|`<b>\x1b[31m"
    text = markdown.markdown_report(diff(one(nasty), one("gemm"), by="kernels"))
    assert "`k\\|'<b>\\x1b[31m kernel` (new)" in text
    assert "`gemm kernel` (gone)" in text
    assert "\x1b" not in text


def test_nothing() -> None:
    assert "no change" in markdown.markdown_report(diff(one("a"), one("a")))
    assert "not certain" in markdown.markdown_report(diff(Trace(), Trace()))
