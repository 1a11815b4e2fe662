"""The accuracy class of a backend: what a recording of it can say about the device.

The conformance kit finds it (docs/guide/conformance.md), and the capture writes it into the trace.
"""

from __future__ import annotations

from msgspec import Struct

from tb_privateuse1.i18n import say

MEANINGS = {
    "A": say(
        "When each kernel ran is measured: starts and durations are known to a few µs, and their "
        "bounds held for work of known length."
    ),
    "B": say(
        "When each kernel ran is inferred from measured events, or not everything is in order: "
        "bounds held for work of known length, and may be wide."
    ),
    "C": say(
        "How long the device worked is known, when each kernel ran only roughly: bounds were not "
        "proven for this backend."
    ),
    "D": say(
        "There are device times, but the backend fails a requirement: check each figure before it "
        "is used."
    ),
    "E": say("The backend has no usable device times: only the host's figures are good."),
}
"""What each class means, best first."""


class Accuracy(Struct, frozen=True):
    """A class of ``MEANINGS``, and the date on which the conformance kit found it."""

    letter: str
    checked: str
    reason: str | None = None
    """Why it is no better, in the kit's words: the codes of its lines."""
