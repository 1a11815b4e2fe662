"""Find the lines of a function at which a call of it may stand, by what the recording knows."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.functions.function_names import (
    first_line,
    function_title,
    qualified_name,
    source_function,
)
from tb_privateuse1.analysis.functions.library_frames import LINED
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import call_tree
from tb_privateuse1.trace.model import Trace

KnownFrom = Literal["stack", "source"]

_BUILT_IN = re.compile(r"^<built-in (?:method|function) (\w+)")


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
