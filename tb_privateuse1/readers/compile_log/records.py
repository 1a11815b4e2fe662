"""Say what the records of a log mean, whatever the version of torch that wrote it (2.3 to 2.13)."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import msgspec
from msgspec import Struct

from tb_privateuse1.readers.chrome.json_values import BROKEN

KINDS = frozenset(
    {b"str", b"dynamo_start", b"artifact", b"inductor_output_code"}
    | {b"compilation_metrics", b"bwd_compilation_metrics"}
)
"""The records that are read; graphs, guards and events of the compiler are most of a log."""

_MOST_TEXT = 4000
"""Letters of a reason that are kept: torch's own have some hundred."""
_WHERE = re.compile(r"^Graph break in user code at (.+):(\d{1,9})$", re.MULTILINE)
_FRAME = re.compile(r'^ *File "([^"\n]+)", line (\d{1,9})(?:, in (\S+))?', re.MULTILINE)
_REASON = re.compile(r"^(?:Graph Break )?Reason: (?:Unsupported: )?(.+)$", re.MULTILINE)
_TITLE = re.compile(r"^(\S.*)\n  Explanation: ", re.MULTILINE)
_ADVICE = re.compile(r"^  (?:Explanation|Hint): .+$", re.MULTILINE)
_USER_STACK = "User code traceback:"
_TRACEBACK = "\nTraceback (most recent call last):"
_CODE = re.compile(r"(?<! ) {2,}+# .*$")
"""Behind a guard: the line of code that made it, cut off by torch. Only the first of several spaces
begins it: each of them would start another search of the rest."""


class _Frame(Struct):
    line: int = -1
    name: str = ""
    filename: int = -1


class _Start(Struct):
    stack: list[_Frame] = []


class _Artifact(Struct):
    name: str = ""


class _Output(Struct):
    filename: str = ""


class Metrics(Struct):
    """Figures of a compilation, in seconds. None: it did not happen, or is not logged."""

    compile_id: str | None = None
    co_name: str | None = None
    co_filename: str | None = None
    co_firstlineno: int | None = None
    start_time: float | None = None
    entire_frame_compile_time_s: float | None = None
    backend_compile_time_s: float | None = None
    inductor_compile_time_s: float | None = None
    code_gen_time_s: float | None = None
    duration_us: int | None = None
    guard_count: int | None = None
    graph_op_count: int | None = None
    fail_type: str | None = None
    fail_reason: str | None = None
    cudagraph_skip_reason: str | None = None


class Record(Struct):
    """The JSON of a record, with its context."""

    rank: int | None = None
    frame_id: int | None = None
    frame_compile_id: int | None = None
    compiled_autograd_id: int | None = None
    dynamo_start: _Start | None = None
    artifact: _Artifact | None = None
    inductor_output_code: _Output | None = None
    compilation_metrics: Metrics | None = None
    bwd_compilation_metrics: Metrics | None = None
    text: tuple[str, int] | None = msgspec.field(default=None, name="str")

    @property
    def compile_id(self) -> str | None:
        """Return torch's name of the compilation, as in the names of compiled regions."""
        own = None
        if self.frame_id is not None and self.frame_compile_id is not None:
            own = f"{self.frame_id}/{self.frame_compile_id}"
        if self.compiled_autograd_id is None:
            return own
        return f"!{self.compiled_autograd_id}" + (f"/{own}" if own else "")


class GraphBreak(Struct):
    """Why a graph ends, and where in the user's code."""

    reason: str
    advice: str
    file: str
    line: int | None


class _Key(Struct):
    key: str | None = None


_RECORD = msgspec.json.Decoder(Record)
_REASONS = msgspec.json.Decoder(list[str])
_KEY = msgspec.json.Decoder(_Key)


def decoded(text: bytes) -> Record | None:
    """Return a record; None if it is damaged, or no record of torch."""
    try:
        return _RECORD.decode(text)
    except BROKEN:
        return None


def graph_break(payload: bytes) -> GraphBreak:
    """Return what the text of a graph break says."""
    text = _text(payload).partition(_TRACEBACK)[0]
    said, _, stack = text.partition(_USER_STACK)
    title = _TITLE.search(said) or _REASON.search(said)
    lines = said.strip().splitlines()
    reason = title[1] if title else lines[0] if lines else ""
    frames = _FRAME.findall(stack or said)
    place = _WHERE.search(said)
    file, line = (place[1], place[2]) if place else frames[-1][:2] if frames else ("", None)
    advice = "\n".join(match.strip() for match in _ADVICE.findall(said))
    return GraphBreak(shorten(reason), shorten(advice), file, None if line is None else int(line))


def recompilation(payload: bytes) -> tuple[list[str], str, int | None]:
    """Return the guards that failed, the last compilation's first, and the line that made it."""
    text = _text(payload)
    reasons = [text]
    if text.startswith("[\n"):
        with contextlib.suppress(*BROKEN):
            reasons = _REASONS.decode(text) or reasons
    frames = _FRAME.findall(reasons[0])
    file, line = (frames[-1][0], int(frames[-1][1])) if frames else ("", None)
    return [shorten(_guard(one)) for one in reasons], file, line


def graph_key(payload: bytes) -> str:
    """Return the key of a graph in the cache; empty if it has none."""
    try:
        return _KEY.decode(payload).key or ""
    except BROKEN:
        return ""


def shorten(text: str) -> str:
    """Return a text of a sane length."""
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 1] + "…"


def first_line(text: Any) -> str:
    """Return the first line of a text that torch explains in the next ones."""
    return shorten(str(text).strip().partition("\n")[0])


def _guard(reason: str) -> str:
    return _CODE.sub("", reason.strip().partition("\n")[0]).strip()


def _text(payload: bytes) -> str:
    return payload.decode("utf-8", "replace").strip("\n")
