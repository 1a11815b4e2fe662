"""Say what a recording lacks to explain more of its idle time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tb_privateuse1.analysis.account.classes import ClassName
from tb_privateuse1.i18n import say
from tb_privateuse1.trace.model import Trace

_LEAST = 0.05
"""The share of the window from which a lack is worth a sentence."""


def missing_records(trace: Trace, shares: Mapping[ClassName, float]) -> Iterator[str]:
    """Yield a sentence for each class whose reason is not recorded.

    ``shares`` are the classes' shares of the window, 0 to 1.
    """

    def share(name: ClassName) -> str | None:
        part = shares.get(name, 0.0)
        return f"{100 * part:.0f} %" if part >= _LEAST else None

    if text := share("unattributed"):
        yield say(
            "{share} of the time has no recorded reason: no thread that drives the device has an "
            "event there. Record ProfilerActivity.CPU, and all threads.",
            share=text,
        )
    if text := share("unknown_launch"):
        yield say(
            "{share} of the time is before activities without a recorded launch. Record "
            "ProfilerActivity.CPU; on a PrivateUse1 device, the backend's launches.",
            share=text,
        )
    if text := share("queued_gap"):
        yield say(
            "In {share} of the time the device stands still with work in its queue. What it waits "
            "for is not recorded: an event of another stream, another process, or its clock.",
            share=text,
        )
    if (text := share("python")) and not len(trace.frames):
        yield say(
            "{share} of the time is the program's own code. Record with_stack=True to see which "
            "lines.",
            share=text,
        )
