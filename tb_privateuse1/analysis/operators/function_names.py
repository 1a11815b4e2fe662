"""Name the function of a Python frame, ``Qwen2MLP.forward (modeling_qwen2.py:56)``, and its calls.

torch's frames have the line where the function begins, but those that were open when the recording
began have the line that ran then: ``main (train.py)``. Frames in the stacks of operators' arguments
and of memory snapshots have the line of the call: ``train.py:12 in step``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.operators.groups import frame_title
from tb_privateuse1.analysis.operators.library_frames import LINED
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.columns import lookup, mask_of
from tb_privateuse1.trace.groupby import distinct_values, group_rows
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import FRAME, NONE, Trace
from tb_privateuse1.trace.recorded_metadata import SourceFunction
from tb_privateuse1.trace.table import I32

KnownFrom = Literal["stack", "source"]

_BUILT_IN = re.compile(r"^<built-in (?:method|function) (\w+)")
_FORWARD = re.compile(r"\.py\(\d+\): forward$")
_FOLDERS = re.compile(r"(?:^|(?<= \())[^\s<(]*/(?=[^/\s]+\.py\b)")
_RESUMED = re.compile(r"^(?:torch_dynamo_)?resume_in_(\w+?)_at_\d+$")
"""Dynamo's name for the rest of a function behind a graph break."""


class ProgramFunction(Struct, frozen=True):
    """A function of the program, and the line of the call in it that is in question."""

    name: str
    """With its class where that is known: ``Qwen2MLP.forward``."""
    file: str
    """As recorded: often without the folders of ``sys.path``."""
    line: int | None
    """Where the function begins; null where that is not known: only the line of the call is
    recorded, or the function ran already when the recording began."""
    call_lines: tuple[int, ...]
    """The line of the call; several where the function calls this more than once; empty if it is
    not known."""
    call_known_from: KnownFrom | None
    """``stack``: the recorded stack has the lines of calls. ``source``: the source of the function,
    as the capture read it. Null if the line is not known."""
    near_line: int
    """A line inside of it, at which an editor opens the file: that of the call, else where the
    function begins, else the one that ran when the recording began."""
    inner: str | None
    """The innermost function outside of torch below it, as ``title``; null if it is itself."""
    title: str
    """``Qwen2MLP.forward (modeling_qwen2.py:56)``, without a line where it is not known; of a
    recorded call ``train.py:12 in step``."""

    def __str__(self) -> str:
        """Return the title, the line of the call with how it is known, and the inner function."""
        title = self.title if self.inner is None else f"{self.title} → {self.inner}"
        if self.call_known_from != "source":
            return title
        lines = ""
        for line in self.call_lines:
            lines = say("{first} or {next}", first=lines, next=line) if lines else str(line)
        return say(
            "{title}, call at line {lines} (known from the source)", title=title, lines=lines
        )


def function_of(
    trace: Trace, frame: str, called: str, inner: str, *, begins: bool
) -> ProgramFunction | None:
    """Return the function of a frame, and the line of a call in it; None without a line.

    ``called`` is the frame, the operator or the call that it calls, ``inner`` the frame of the
    innermost function below. ``begins``: lines are where functions begin, else those of calls.
    """
    found = LINED.match(frame)
    if found is None:
        return None
    recorded = int(found["line"])
    calls = _calls(trace, frame, called) if begins else (recorded,)
    return ProgramFunction(
        name=qualified_name(trace, frame, begins=begins),
        file=found["file"],
        line=first_line(trace, frame) if begins else None,
        call_lines=calls,
        call_known_from=("source" if begins else "stack") if calls else None,
        near_line=calls[0] if calls else recorded,
        inner=None if inner == frame else function_title(trace, inner, begins=begins),
        title=function_title(trace, frame, begins=begins),
    )


def _calls(trace: Trace, frame: str, called: str) -> tuple[int, ...]:
    source = source_function(trace, frame)
    return () if source is None else source.calls.get(callee(called), ())


def callee(called: str) -> str:
    """Return the name that a call has in the source: ``item``, ``relu``, ``nn.Module: Linear``.

    ``called`` is a frame's name, an operator's, or a runtime call's.
    """
    if called.startswith(call_tree.MODULE):
        return call_tree.class_of(called)
    if lined := LINED.match(called):
        return lined["name"]
    built_in = _BUILT_IN.match(called)
    return built_in[1] if built_in else called.rpartition("::")[2]


def function_title(trace: Trace, frame: str, *, begins: bool) -> str:
    """Return the name of a frame's function with file and line; other names as they are.

    ``begins``: the line is where the function begins. Else it is that of the call.
    """
    found = LINED.match(frame)
    if found is None:
        return frame
    name = qualified_name(trace, frame, begins=begins)
    file = found["file"]
    if not begins:
        return f"{file}:{found['line']} in {name}"
    line = first_line(trace, frame)
    return f"{name} ({file})" if line is None else f"{name} ({file}:{line})"


def without_folders(title: str) -> str:
    """Return a title without the folders of its file; other names as they are."""
    return _FOLDERS.sub("", title)


def call_title(trace: Trace, frame: str) -> str:
    """Return what a person calls the function of a frame: ``tensor()`` of a built-in method."""
    built_in = _BUILT_IN.match(frame)
    return (
        f"{built_in[1]}()" if built_in else function_title(trace, frame_title(frame), begins=True)
    )


def first_line(trace: Trace, frame: str) -> int | None:
    """Return the line where the function of a frame begins; None if it is not known.

    ``frame`` is one of ``trace.frames``.
    """
    source, found = source_function(trace, frame), LINED.match(frame)
    if source is not None:
        return source.line
    return None if found is None or frame in _open_frames(trace) else int(found["line"])


def qualified_name(trace: Trace, frame: str, *, begins: bool) -> str:
    """Return the name of a frame's function, with its class where that is known."""
    found = LINED.match(frame)
    if found is None:
        return frame
    name = _RESUMED.sub(r"\1", found["name"])
    if not begins:
        return name
    source = source_function(trace, frame)
    if source is not None:
        return source.name
    owner = _forward_classes(trace).get(frame)
    return f"{owner}.{name}" if owner else name


def source_function(trace: Trace, frame: str) -> SourceFunction | None:
    """Return what the recording knows of the source of a frame's function.

    torch takes the folders of ``sys.path`` off: the one function counts whose file ends like that,
    and that begins with this name at this line. Of a frame that was open when the recording began,
    it is the last one of this name before the line.
    """
    return user_frames(trace).get(frame)


@memoize
def user_frames(trace: Trace) -> Mapping[str, SourceFunction]:
    """Return the frames that are the user's by the recording itself, with their sources."""
    by_name: dict[str, list[SourceFunction]] = {}
    for one in trace.meta.functions:
        by_name.setdefault(one.name.rpartition(".")[2], []).append(one)
    captures = trace.captures
    names = np.concatenate((trace.frames.name, captures.name[captures.kind == FRAME]))
    found = {}
    for name in distinct_values(names).tolist() if by_name else ():
        frame = trace.text(name)
        if (parts := LINED.match(frame)) is None:
            continue
        called = _RESUMED.sub(r"\1", parts["name"])
        same = [one for one in by_name.get(called, ()) if _is_file(one.file, parts["file"])]
        if frame in _open_frames(trace):
            before = [one for one in same if one.line <= int(parts["line"])]
            same = sorted(before, key=lambda one: one.line)[-1:]
        else:
            same = [one for one in same if one.line == int(parts["line"])]
        if len(same) == 1:
            found[frame] = same[0]
    return found


@memoize
def _open_frames(trace: Trace) -> frozenset[str]:
    """Return the frames that may only have been open when the recording began.

    Those of a thread are its first rows, each inside of the one before.
    """
    frames = trace.frames
    rows = np.arange(len(frames))
    first = np.append(True, frames.thread[1:] != frames.thread[:-1])[: len(rows)]
    breaks = ~first & (frames.parent != rows - 1)
    # A row is of the chain if no break lies between the thread's first row and itself.
    count = np.cumsum(breaks)
    start = np.maximum.accumulate(np.where(first, rows, 0)) if len(rows) else rows
    chain = count == count[start]
    own, other = (mask_of(frames.name[part], len(trace.strings)) for part in (chain, ~chain))
    own &= ~other
    return frozenset(trace.text(name) for name in np.flatnonzero(own).tolist())


def _is_file(whole: str, file: str) -> bool:
    whole, file = whole.replace("\\", "/"), file.replace("\\", "/")
    return whole == file or whole.endswith(f"/{file}")


@memoize
def _forward_classes(trace: Trace) -> Mapping[str, str]:
    """Return the class of each frame named ``forward`` that an nn.Module calls.

    Modules of several classes that run one function inherit it: whose it is, is not known.
    """
    classes: dict[str, str | None] = {}
    frames, captures = trace.frames, trace.captures
    of_captures = np.where(captures.kind == FRAME, captures.name, NONE).astype(np.int32)
    for name, parent in ((frames.name, frames.parent), (of_captures, captures.parent)):
        for frame, module in _called(trace, name, parent):
            owner = call_tree.class_of(module.removeprefix(call_tree.MODULE))
            classes[frame] = owner if classes.setdefault(frame, owner) == owner else None
    return {frame: owner for frame, owner in classes.items() if owner}


def _called(trace: Trace, name: I32, parent: I32) -> set[tuple[str, str]]:
    """Return the frames named ``forward``, each with the module whose first such frame it is."""
    forward, module = np.zeros((2, len(trace.strings) + 1), np.bool_)
    for i in distinct_values(name[name >= 0]).tolist():
        text = trace.text(i)
        forward[i] = _FORWARD.search(text) is not None
        module[i] = text.startswith(call_tree.MODULE)
    rows = np.flatnonzero(forward[name])
    around = call_tree.around(parent, parent[rows], (forward | module)[name])
    frame, owner = name[rows], lookup(name, around, NONE)
    frame, owner = frame[module[owner]], owner[module[owner]]
    first, _ = group_rows(frame, owner)
    pairs = zip(frame[first].tolist(), owner[first].tolist(), strict=True)
    return {(trace.text(a), trace.text(b)) for a, b in pairs}
