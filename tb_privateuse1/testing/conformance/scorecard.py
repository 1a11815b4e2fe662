"""Run the requirements on a backend, and put the lines, the truth and the class together."""

from __future__ import annotations

import datetime
import json
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, get_args

from tb_privateuse1.capture import accuracy as kept
from tb_privateuse1.testing.conformance.accuracy import Grade, grade
from tb_privateuse1.testing.conformance.lines import Line, Verdict, ask
from tb_privateuse1.testing.conformance.requirements import KNOWN, REQUIREMENTS
from tb_privateuse1.testing.conformance.subject import Subject
from tb_privateuse1.testing.conformance.truth import Truth, attempt

SCHEMA = "tb_privateuse1.testing.conformance/1"


@dataclass(frozen=True)
class Scorecard:
    """The results of the kit for one backend."""

    identity: dict[str, str]
    lines: tuple[Line, ...]
    truth: Truth | None
    grade: Grade | None
    """None where only some lines were asked for."""
    seconds: float

    @property
    def counts(self) -> dict[str, int]:
        """Return how many lines have each verdict; ``none`` is no requirement that holds."""
        found = Counter(line.answer.verdict for line in self.lines)
        return {verdict: found[verdict] for verdict in get_args(Verdict)}

    def as_json(self) -> dict[str, Any]:
        """Return the form of ``--json``."""
        return {
            "schema": SCHEMA,
            **self.identity,
            "class": self.grade and self.grade.letter,
            "meaning": self.grade and self.grade.meaning,
            "reason": self.grade and self.grade.reason,
            "seconds": round(self.seconds, 1),
            "counts": self.counts,
            "lines": [
                {
                    "code": line.requirement.code,
                    "title": line.requirement.title,
                    "verdict": line.answer.verdict,
                    "measured": line.answer.measured,
                    "values": line.answer.values,
                    "consequence": line.requirement.consequence,
                    "remedy": line.requirement.remedy,
                    "language": line.requirement.language,
                    "guide": line.requirement.guide,
                }
                for line in self.lines
            ],
            "truth": self.truth and self.truth.as_json(),
        }


def judge(subject: Subject, only: Collection[str] = ()) -> Scorecard:
    """Return the scorecard of a backend, with the class if no lines are left out."""
    began = time.monotonic()
    asked = [one for one in REQUIREMENTS if not only or one.code in only]
    lines: list[Line] = []
    failed: set[str] = set()
    for one in asked:
        lines.append(ask(one, subject, failed))
        if lines[-1].answer.verdict == "fail":
            failed.add(one.code)
    measured = None if only and not KNOWN & set(only) else attempt(subject)
    truth = None if isinstance(measured, str) else measured
    found = None if only else grade(lines, truth)
    return Scorecard(
        kept.identity(subject.name), tuple(lines), truth, found, time.monotonic() - began
    )


def keep(card: Scorecard) -> None:
    """Leave the class where recordings of the backend find it; raises OSError."""
    if card.grade is None:
        return
    path = kept.result_file(card.identity["backend"])
    path.parent.mkdir(parents=True, exist_ok=True)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = {"class": card.grade.letter, "reason": card.grade.reason, "checked": today}
    content = {**card.identity, **found}
    path.write_text(json.dumps(content), encoding="utf-8")
