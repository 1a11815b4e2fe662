"""The file's contents and links, and findings with the worst first."""

from __future__ import annotations

import pytest

from tb_privateuse1.export.reports import csv, text
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.views.operators import operators
from tb_privateuse1.views.overview import overview
from tb_privateuse1.views.quality import Category, Extent, quality
from tests.support.make import Event, kernel, launch, memory, op, step, trace


def doubtful() -> list[Event]:
    return [
        step(1, 0, 100),
        op("aten::mm", 10, 20, id=1),
        launch(12, 14, 7),
        kernel("gemm", 15, 45, 7),
        kernel("replayed", 50, 60),
        launch(70, 71, 8),
        memory(11, 512, 512),
        {"ph": "P", "cat": "x", "name": "sample", "pid": 1, "tid": 1, "ts": 1},
    ]


def test_links_and_contents() -> None:
    t = trace(*doubtful())
    result = quality(t)
    assert (result.activities, result.linked, result.linked_share) == (2, 1, 0.5)
    assert (result.device_ns, result.unlinked_ns, result.unlinked_share) == (40_000, 10_000, 0.25)
    assert result.host == Extent(0, 100_000)
    assert result.device == Extent(15_000, 60_000)
    assert result.events == 7
    assert sum(c.events for c in result.categories) == 7
    assert result.categories[0].events == 2
    assert Category("[memory]", 1) in result.categories
    totals = overview(t).totals
    assert (result.linked, result.activities) == (totals.linked, 2)
    assert result.unlinked_device_ns == operators(t).unlinked_device_ns
    assert result.duration_ns == t.end_ns


def test_the_worst_comes_first_and_nothing_is_left_out() -> None:
    t = trace(*doubtful(), *doubtful())
    result = quality(t)
    order = ["error", "warning", "info"]
    ranks = [order.index(row.severity) for row in result.rows]
    assert ranks == sorted(ranks)
    assert set(ranks) == {0, 1, 2}
    assert (result.errors, result.warnings, result.notes) == tuple(ranks.count(i) for i in range(3))
    assert sorted(row.code for row in result.rows) == sorted(f.code for f in t.meta.findings)
    assert result.provenance.warnings == ()


def test_an_inferred_timeline_is_linked_by_its_operators() -> None:
    events = [op("aten::mm", 100 * i, 100 * i + 50, id=i + 1) for i in range(8)]
    result = quality(trace(*events, elapsed={i + 1: 80.0 for i in range(8)}))
    assert result.provenance.timeline == "inferred"
    assert (result.linked, result.linked_share, result.unlinked_ns) == (result.activities, 1.0, 0)


def test_without_device_times_nothing_is_0() -> None:
    for result in (quality(Trace()), quality(trace(op("a", 0, 5)))):
        assert result.device is result.activities is result.linked is result.unlinked_ns is None
        assert result.linked_share is result.unlinked_share is None
    assert quality(Trace()).host is None


def test_as_csv_and_text() -> None:
    result = quality(trace(*doubtful()))
    lines = csv.csv_table(result).splitlines()
    assert lines[0] == "code,message,hint,count,severity,affects,examples,window"
    assert len(lines) == 1 + len(result.rows)
    assert '""table"":""kernels"",""row"":1,""name"":""replayed""' in lines[1]
    told = text.text_report(result)
    assert "linked share: 50.0 %" in told
    assert "    kernels 1: replayed, device 0 stream 7, at 50,000 ns" in told
    assert "  info: 1 events of phase 'P' are not shown." in told


@pytest.mark.parametrize("name", ["\x1b[2J", "<img src=x>", "a\nb"])
def test_names_in_examples_do_not_move_the_terminal(name: str) -> None:
    told = text.text_report(quality(trace(op("a", 0, 1), kernel(name, 5, 9))))
    assert all(line.isprintable() for line in told.split("\n"))


def test_the_class_of_the_backend_has_its_meaning() -> None:
    assert quality(trace(*doubtful())).accuracy is None
    facts = {"backend": "mydev", "accuracy": {"class": "B", "checked": "2026-01-02"}}
    found = quality(trace(*doubtful(), tb_privateuse1=facts)).accuracy
    assert found is not None
    assert (found.letter, found.checked, found.reason) == ("B", "2026-01-02", None)
    assert "bounds held" in found.meaning


@pytest.mark.parametrize(("letter", "reason"), [("B", "the line operators warns"), ("A", None)])
def test_a_class_that_is_not_the_best_says_why(letter: str, reason: str | None) -> None:
    stated = {"class": letter, "checked": "2026-01-02", "reason": "the line operators warns"}
    found = quality(trace(*doubtful(), tb_privateuse1={"accuracy": stated})).accuracy
    assert found is not None
    assert found.reason == reason


def test_a_trace_that_lost_its_metadata_has_the_class_of_its_sidecar() -> None:
    """Tools that cut or merge traces leave the events alone; the trace's own word counts first."""
    stated = {"class": "B", "checked": "2026-01-02"}
    beside = {"accuracy": {"class": "C", "checked": "2025-01-01"}}
    alone = quality(trace(*doubtful(), elapsed={1: 5}, beside=beside)).accuracy
    both = quality(
        trace(*doubtful(), elapsed={1: 5}, beside=beside, tb_privateuse1={"accuracy": stated})
    ).accuracy
    assert alone is not None
    assert both is not None
    assert (alone.letter, alone.checked, both.letter) == ("C", "2025-01-01", "B")


@pytest.mark.parametrize("stated", [None, "A", {"class": "F", "checked": "x"}, {"class": "A"}])
def test_what_is_no_class_is_none(stated: object) -> None:
    assert quality(trace(*doubtful(), tb_privateuse1={"accuracy": stated})).accuracy is None
