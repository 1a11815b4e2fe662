"""Check whether the backend names the streams of its events."""

from __future__ import annotations

from typing import Any

import torch

from tb_privateuse1.testing.conformance.lines import Answer, Requirement, Verdict, is_lacking
from tb_privateuse1.testing.conformance.subject import Subject


def _check(subject: Subject) -> Answer:
    lacking = [
        name for name in ("elapsed_streams", "marker_streams") if not hasattr(subject.module, name)
    ]
    if "elapsed_streams" in lacking:
        return Answer("warn", f"torch.{subject.name} has no {' and no '.join(lacking)}")
    usual = torch.accelerator.current_stream()
    try:
        side = torch.Stream(device=subject.device)
    except Exception as error:
        verdict: Verdict = "none" if is_lacking(error) else "unknown"
        return Answer(verdict, f"no second stream: {error}".splitlines()[0])
    wrong = _wrong(subject, usual) + _wrong(subject, side)
    if wrong:
        return Answer("fail", wrong[0], {"wrong": wrong})
    if lacking:
        return Answer("warn", f"torch.{subject.name} has no {lacking[0]}")
    return Answer("ok", f"streams {usual.stream_id} and {side.stream_id} have names of their own")


def _wrong(subject: Subject, stream: Any) -> list[str]:
    """Return what the backend says of operators on this stream and is not so."""
    before = torch.accelerator.current_stream()
    torch.accelerator.set_stream(stream)
    try:
        rows = subject.rows(lambda: subject.launch(2))
    finally:
        torch.accelerator.set_stream(before)
    said = {row.streams[1:] for row in rows if row.streams and row.name == "aten::mul_"}
    wanted = (stream.stream_id, stream.stream_id)
    if not said:
        return ["operators on a stream have no times"]
    return [f"operators on stream {wanted[0]} are said to be on {one}" for one in said - {wanted}]


REQUIREMENT = Requirement(
    "streams_named",
    "events name their streams",
    "All events are taken to be on one stream: a program with several has no timeline.",
    "def elapsed_streams() -> tuple[int, int, int]:  # device, streams of the last elapsed()\n"
    "    return _C.elapsed_streams()\n"
    "\n"
    "def marker_streams() -> list[torch.Stream]:  # of this device: what the guard gave\n"
    "    device = torch.accelerator.current_device_index()\n"
    "    kind = int(torch._C._autograd.DeviceType.PrivateUse1)\n"
    "    numbers = _C.used_streams(device)  # noted by the guard, and 0\n"
    "    return [torch.Stream(stream_id=n, device_index=device, device_type=kind)\n"
    "            for n in numbers]",
    _check,
    "events",
    rests_on=("stubs_called", "elapsed_read"),
    language="Python",
    section="next-what-the-events-know",
)
