"""Check whether kernels of a Kineto profiler lead to their runtime call and operator."""

from __future__ import annotations

from tb_privateuse1.testing.conformance.lines import Answer, Requirement
from tb_privateuse1.testing.conformance.requirements.kineto_rows import OPERATORS, recorded
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    found = recorded(subject)
    if not found.device:
        return Answer("unknown", "nothing of the device is recorded")
    calls = {row.correlation_id() for row in found.runtime}
    launched = sum(row.correlation_id() in calls for row in found.device)
    operators = {row.correlation_id() for row in found.operators}
    linked = sum(row.linked_correlation_id() in operators for row in found.device)
    values = {
        "rows": len(found.device),
        "calls": len(calls),
        "launched": launched,
        "linked": linked,
    }
    if not calls:
        return Answer("warn", "no calls of the runtime are recorded", values)
    said = f"{launched} of {len(found.device)} have their call, {linked} their operator"
    return Answer("ok" if min(launched, linked) >= OPERATORS else "fail", said, values)


REQUIREMENT = Requirement(
    "kineto_correlation",
    "kernels have a runtime call and an operator",
    "Kernels belong to no operator: tables by operator, module and line of code lack them.",
    "activity.id = kernel.correlation;  // the same number for the call and its kernel\n"
    "activity.linked = operator_of(external_id);  // pushed by pushCorrelationId",
    _check,
    "native",
    section="best-measured-kernels",
)
