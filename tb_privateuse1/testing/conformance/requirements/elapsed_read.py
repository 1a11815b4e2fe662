"""Check whether the times of operators can be read."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement, Verdict
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    rows = subject.sample
    raised = [row.failed for row in rows if row.failed]
    values = {"rows": len(rows), "raised": len(raised)}
    if not rows:
        return Answer("unknown", "torch recorded no operators", values)
    if not raised:
        return Answer("ok", "every time can be read", values)
    verdict: Verdict = "fail" if 2 * len(raised) > len(rows) else "warn"
    return Answer(verdict, f"{len(raised)} of {len(rows)} raised: {raised[0]}", values)


REQUIREMENT = Requirement(
    "elapsed_read",
    "elapsed() returns for every operator",
    "A time that cannot be read is null, and torch's own tables fail as a whole.",
    "float elapsed(const ProfilerVoidEventStub* first, const ProfilerVoidEventStub* second)\n"
    "    const override {\n"
    "  driver_event_synchronize(second->get());  // torch asks late: wait, never throw\n"
    "  return 1000.0f * driver_elapsed_ms(first->get(), second->get());\n"
    "}",
    _check,
    "events",
    section="least-events-around-operators",
)
