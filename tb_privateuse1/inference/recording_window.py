"""Read why and at what cost a running job recorded: metadata key ``tb_privateuse1_window``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tb_privateuse1.i18n import Text, plural, say
from tb_privateuse1.i18n.units import shorten
from tb_privateuse1.readers.raw import Raw
from tb_privateuse1.trace.findings import LONGEST_INLINE, Finding
from tb_privateuse1.trace.table import HALF_INT64

_KEY = "tb_privateuse1_window"


def window_findings(raw: Raw) -> tuple[Finding, ...]:
    """Return the findings of a recording on demand; none of another."""
    facts = raw.metadata.get(_KEY)
    return tuple(_findings(facts)) if isinstance(facts, dict) else ()


def _findings(facts: dict[str, Any]) -> Iterator[Finding]:
    first, steps = _count(facts, "first_step"), _count(facts, "steps")
    hint = None
    if first is not None and steps:
        shown = plural(steps, "step")
        hint = say("It shows {steps}, from step {first} on.", steps=shown, first=first)
    if reason := _reason(facts.get("reason")):
        yield Finding("kept_recording", reason, hint, severity="info")
    elif isinstance(facts.get("request"), str):
        by = facts.get("by")
        message = say("This recording was requested while the job ran.")
        if isinstance(by, str) and by:
            by = shorten(by, LONGEST_INLINE)
            message = say("This recording was requested while the job ran, by {by}.", by=by)
        yield Finding("requested_recording", message, hint, severity="info")
    yield from _cost(facts)


def _cost(facts: dict[str, Any]) -> Iterator[Finding]:
    """Yield what recording costs a step, or why that is unknown; nothing without other steps.

    The cost is known if the ranges of the two medians are: they take five steps each.
    """
    usual, recorded = _count(facts, "usual_ns"), _count(facts, "recorded_ns")
    if not usual or not recorded:
        return
    ranges = [_range(facts, name) for name in ("recorded_range_ns", "usual_range_ns")]
    message = say(
        "While it was recorded, a step took {recorded}; before, it took {usual}.",
        recorded=_milliseconds(recorded),
        usual=_milliseconds(usual),
    )
    if None in ranges:
        message = say("What recording costs is unknown.")
        hint = say("It takes at least five recorded steps, and five others behind the warm-up.")
    else:
        (first, last), (usual_first, usual_last) = (one or (0, 0) for one in ranges)
        low, high = first - usual_last, last - usual_first
        hint = say("No cost of recording was seen; the noise of the steps is {noise}.",
                   noise=_milliseconds(high - low))  # fmt: skip
        if low > 0:
            hint = say(
                "The difference, {low} to {high}, is what recording costs, "
                "and what the program did otherwise.",
                low=_milliseconds(low),
                high=_milliseconds(high),
            )
    yield Finding("recording_cost", message, hint, severity="info")


def _reason(reason: Any) -> Text | None:
    """Return why the job kept the recording, or None."""
    if not isinstance(reason, dict):
        return None
    step = _count(reason, "step")
    kind = reason.get("kind")
    if kind == "error" and isinstance(reason.get("message"), str):
        error = shorten(reason["message"], LONGEST_INLINE)
        return say("This recording was kept because the program ended with {error}.", error=error)
    if kind == "loss" and step is not None:
        return say(
            "This recording was kept because the loss of step {step} was not finite.", step=step
        )
    took, usual = _count(reason, "step_ns"), _count(reason, "usual_ns")
    if kind == "slow_step" and None not in (step, took, usual):
        return say(
            "This recording was kept because step {step} took {took}; a usual step took {usual}.",
            step=step,
            took=_milliseconds(took or 0),
            usual=_milliseconds(usual or 0),
        )
    return None


def _count(values: dict[str, Any], name: str) -> int | None:
    found = values.get(name)
    return found if type(found) is int and 0 <= found < HALF_INT64 else None


def _range(values: dict[str, Any], name: str) -> tuple[int, int] | None:
    """Return the ends of a range in ns, in order, or None."""
    found = values.get(name)
    if not isinstance(found, list) or len(found) != 2:
        return None
    low, high = (_count({name: one}, name) for one in found)
    return None if low is None or high is None or low > high else (low, high)


def _milliseconds(ns: int) -> str:
    return f"{ns / 1e6:,.1f} ms"
