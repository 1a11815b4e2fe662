"""The skill file for agents: printed, or written where their loaders look for it."""

from __future__ import annotations

from pathlib import Path

from tb_privateuse1.i18n import say
from tb_privateuse1.server.agents import reference
from tb_privateuse1.trace.errors import TraceError

NAME = "tb-privateuse1"
FILE = "SKILL.md"


def install(folder: str) -> Path:
    """Write ``tb-privateuse1/SKILL.md`` below a folder; returns its path.

    Raises TraceError ``unwritable``.
    """
    path = Path(folder).expanduser() / NAME / FILE
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(reference.skill(), encoding="utf-8")
    except OSError as error:
        message = say("{path} cannot be written: {error}", path=path, error=error.strerror)
        raise TraceError("unwritable", message) from error
    return path
