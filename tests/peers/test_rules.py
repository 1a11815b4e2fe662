"""All rules on real traces: what they find is what docs/internals/advice.md says was checked by
reading, and what is claimed of an inferred timeline holds in the truth beside it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.advice_verdicts import judge
from docs.generate.rules import verdicts
from tb_privateuse1.advice.engine import advise
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.analysis.account.table import account_table
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals, uncertainty
from tests.support.program import check
from tests.support.repeats import sampled
from tests.support.shared_traces import FOLDER, TRACES, load

_TRUTH = FOLDER / "advice.json"
EXPERT = json.loads(_TRUTH.read_text()) if _TRUTH.exists() else {}
"""What an expert would advise on some recordings, and what must not be said."""

DOCUMENT = Path(__file__).parents[2] / "docs" / "internals" / "advice.md"

_WRONG = 0.002
"""Of the judged time, outside of the bounds. These are no proof: one in thousands is passed."""

_ENDS = ("start_ns", "end_ns")

pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the shared traces are not here")


def documented() -> dict[str, dict[str, int | None]]:
    """Per cent by rule, of each trace in the document's table; None where no saving is known."""
    return {f"{row.trace}/{row.rank}": row.found for row in verdicts(DOCUMENT.read_text())}


def place(path: Path) -> str:
    rank = re.search(r"rank-1\.", path.name)
    return f"{path.parent.parent.name}/{path.parent.name}/{1 if rank else 0}"


def is_judged(path: Path) -> bool:
    """Whether the document's table has a row for a trace; it has none for later simulations."""
    return "privateuse1_more" not in path.parts


def test_each_trace_is_judged_once_with_a_reason() -> None:
    rows = verdicts(DOCUMENT.read_text())
    judged = [place(path) for path in TRACES if is_judged(path)]
    assert sorted(f"{row.trace}/{row.rank}" for row in rows) == sorted(judged)
    for row in rows:
        assert re.fullmatch(r"(right|wrong)[:,] .{5,}", row.verdict), row
        assert set(row.found) <= set(RULES)


@pytest.mark.parametrize("path", TRACES, ids=place)
def test_no_rule_fails_and_no_instant_is_saved_twice(path: Path) -> None:
    told = advise(load(path))
    check(told)
    assert "failed" not in {one.answer for one in told.asked}


@pytest.mark.parametrize("path", [path for path in TRACES if is_judged(path)], ids=place)
def test_what_is_found_was_checked(path: Path) -> None:
    trace = load(path)
    told = advise(trace)
    found = {
        row.rule: None if row.saving_share is None else round(100 * row.saving_share)
        for row in told.rows
    }
    known = documented()[place(path)]
    if trace.meta.timeline != "inferred":
        assert found == known
        return
    # How much bounds carry changes with the inference; what is found must have been judged.
    causes = {rule.name for rule in RULES.values() if rule.precedence == "cause"}
    assert set(found) & causes <= set(known)


TRUE = [path for path in TRACES if (path.parent / "truth.json.gz").exists()]


@pytest.mark.parametrize("path", TRUE, ids=place)
def test_what_is_idle_for_a_rule_was_idle(path: Path) -> None:
    trace = load(path)
    columns = json.loads(gzip.decompress((path.parent / "truth.json.gz").read_bytes()))
    start, end = (np.array(columns[name], np.int64) - trace.base_ns for name in _ENDS)
    truth = intervals.union(start, end)
    case = RuleContext(trace)
    found = case.limits
    # Estimates are off; but no more than their bounds allow, which are no proof either.
    kernels, window = trace.kernels, case.window
    possibly = uncertainty.possibly_running(kernels, int(window[1].max(initial=0)))
    certainly = uncertainty.certainly_running(kernels.take(uncertainty.limited(kernels)))
    idle, busy = (intervals.intersect(found.all_idle, truth), intervals.subtract(found.busy, truth))
    most = _WRONG * case.window_ns
    assert intervals.length(intervals.subtract(idle, possibly)) <= most
    assert intervals.length(intervals.intersect(busy, certainly)) <= most


OF_CLASS: dict[str, tuple[ClassName, ...]] = {
    "host_bound": ("dispatch", "launch_call", "python"),
    "python_overhead": ("python", "dispatch", "file_or_lock", "launch_call"),
    "unrecorded_pauses": ("python",),
    "held_interpreter": ("python",),
    "data_loader": ("input",),
    "single_process_loader": ("input",),
    "garbage_collection": ("garbage_collection",),
    "device_malloc": ("device_memory",),
    "exposed_copy": ("exposed_copy",),
    "exposed_communication": ("exposed_communication",),
    "waiting_ranks": ("exposed_communication",),
}
"""The classes of the account from which a rule has its time."""

SHARE = re.compile(r"([\d.]+ %)(?= of the time|$)")


@pytest.mark.parametrize("path", sampled(TRACES), ids=place)
def test_a_finding_is_no_larger_than_its_class_and_its_title_says_so(path: Path) -> None:
    trace = load(path)
    told = advise(trace)
    case = RuleContext(trace)
    account = account_table(trace, case.window) if case.window_ns else None
    ns = {one.name: one.ns for one in account.classes} if account else {}
    for row in told.rows:
        if row.saving_share is None or row.saving_ns is None:
            continue
        if row.rule in OF_CLASS:
            assert row.saving_ns <= sum(ns.get(name, 0) for name in OF_CLASS[row.rule]), row.title
        if (said := SHARE.search(row.title)) and "{share}" in getattr(row.title, "template", ""):
            assert said[1] == percent(row.saving_share), row.title


KNOWN_MISSES = {
    "decode products reach 49 %": "kernels of a graph's replay have no shapes",
    "per-parameter SGD": "its launches overlap the device's work: the replay gains a third of it",
}
"""Expectations of 3 per cent and more that are not found, by their first words, and why."""


@pytest.mark.parametrize("recording", sorted(EXPERT))
def test_an_experts_advice_is_found_and_nothing_false_is_said(recording: str) -> None:
    folder = FOLDER / recording
    paths = [*folder.glob("*.pt.trace.json*"), *folder.glob("trace_view.json")]
    verdict = judge(recording, load(paths[0]), EXPERT[recording])
    assert verdict.forbidden == ()
    missed = [
        piece.advice
        for piece in verdict.expected
        if piece.share >= 3 and piece.found < piece.share / 2
    ]
    assert [text for text in missed if not text.startswith(tuple(KNOWN_MISSES))] == []
