"""The registry of requirements, and the class that follows from their lines."""

from __future__ import annotations

import importlib
import itertools
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tb_privateuse1.testing.conformance import output
from tb_privateuse1.testing.conformance.accuracy import UNUSABLE, grade
from tb_privateuse1.testing.conformance.lines import GUIDE, Answer, Line, Requirement, Verdict, ask
from tb_privateuse1.testing.conformance.requirements import REQUIREMENTS
from tb_privateuse1.testing.conformance.scorecard import Scorecard
from tb_privateuse1.testing.conformance.truth import Truth
from tb_privateuse1.trace.accuracy import MEANINGS
from tests.device.testing.conformance.wrong_backends import WRONG
from tests.support.on_device import ROOT
from tests.support.sources import FILES

CODES = [one.code for one in REQUIREMENTS]
GOOD = Truth(
    kernels=80, missing=0, operator_ns=1, operator_bound_ns=1, period_ns=1, duration_error_ns=1,
    duration_error_p95_ns=1, duration_bound_ns=1, start_error_ns=1, start_error_p95_ns=1,
    start_bound_ns=5_000, start_room_ns=9_000, durations_held=80, starts_held=70, judged=150,
)  # fmt: skip


def test_each_file_of_a_requirement_is_registered_once() -> None:
    folder = "testing.conformance.requirements."
    written = [
        module.removeprefix(folder)
        for module, path in FILES.items()
        if module.startswith(folder) and re.search(r"^REQUIREMENT = ", path.read_text(), re.M)
    ]
    assert sorted(CODES) == sorted(written)
    for code, one in zip(CODES, REQUIREMENTS, strict=True):
        assert importlib.import_module(f"tb_privateuse1.{folder}{code}").REQUIREMENT is one


@pytest.mark.parametrize("one", REQUIREMENTS, ids=CODES)
def test_each_says_what_a_reader_needs(one: Requirement) -> None:
    assert one.title
    assert one.consequence.endswith(".")
    assert one.remedy
    earlier = CODES[: CODES.index(one.code)]
    assert set(one.rests_on) <= set(earlier)


def test_each_section_that_is_named_is_on_the_page() -> None:
    page = (ROOT / GUIDE).read_text()
    headings = re.findall(r"^#+ (.+)$", page, re.M)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    assert {one.section for one in REQUIREMENTS} - {""} <= anchors
    card = Scorecard({"backend": "acme", "torch": "2"}, tuple(lines(memory="warn")), None, None, 0)
    assert f"see {GUIDE}#memory\n" in output.text(card)
    assert output.text(card).count(GUIDE) == 1


def test_no_remedy_names_a_file_that_is_not_there() -> None:
    for one in REQUIREMENTS:
        for name in re.findall(r"\b(?:examples|docs|tests)/[\w/.-]+", one.remedy):
            assert (ROOT / name).exists(), one.code


def test_the_guide_has_each_code() -> None:
    guide = (ROOT / "docs" / "guide" / "conformance.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", guide, re.M)
    listed = list(itertools.chain.from_iterable(re.findall(r"`(\w+)`", row) for row in rows))
    assert [code for code in listed if code in CODES] == CODES
    assert f"{len(WRONG)} wrong backends" in guide


def test_each_line_has_a_wrong_backend() -> None:
    assert {one.line for one in WRONG.values()} == set(CODES)


def test_what_torch_says_of_a_lacking_function_is_no_unknown_line() -> None:
    """Seen on a foreign backend: its guard makes no events."""

    def check(said: str) -> Requirement:
        def raises(_: object) -> Answer:
            raise RuntimeError(said)

        return Requirement("query", "", "", "", raises)

    subject: Any = SimpleNamespace(routes=())
    found = [ask(check(said), subject).answer for said in _RAISED]
    assert [(one.verdict, one.measured) for one in found] == [
        ("warn", "RuntimeError: Backend doesn't support events."),
        ("unknown", "could not be checked: RuntimeError: out of memory"),
    ]


_RAISED = ("Backend doesn't support events.", "out of memory")


def lines(**verdicts: Verdict) -> list[Line]:
    """Return a scorecard in order, but for these lines."""
    return [Line(one, Answer(verdicts.get(one.code, "ok"), "")) for one in REQUIREMENTS]


def test_a_scorecard_in_order_is_the_best_class() -> None:
    assert grade(lines(), GOOD).letter == "A"
    assert grade(lines(kineto_clock="none"), GOOD).letter == "A"


@pytest.mark.parametrize("code", CODES)
def test_no_line_that_fails_or_warns_is_passed(code: str) -> None:
    failed: dict[str, Verdict] = {code: "fail"}
    warned: dict[str, Verdict] = {code: "warn"}
    unknown: dict[str, Verdict] = {code: "unknown"}
    assert grade(lines(**failed), GOOD).letter == ("E" if code in UNUSABLE else "D")
    assert grade(lines(**warned), GOOD).letter in "BC"
    assert grade(lines(**unknown), GOOD).letter == "B"


def test_the_work_of_known_length_limits_the_class() -> None:
    assert grade(lines(), None).letter == "C"
    assert grade(lines(), replace(GOOD, starts_held=60)).letter == "C"
    assert grade(lines(), replace(GOOD, start_bound_ns=30_000)).letter == "B"
    assert grade(lines(elapsed_kind="warn"), GOOD).letter == "C"
    assert "".join(MEANINGS) == "ABCDE"


def test_the_reason_says_what_a_busy_host_could_not_check() -> None:
    """The host's doubt is no fault of the backend, and no evidence for it either."""
    found = grade(lines(), replace(GOOD, start_room_ns=32_500))
    assert found.letter == "A"
    assert "to ±32 µs only" in found.reason
    assert "±" not in grade(lines(), GOOD).reason
