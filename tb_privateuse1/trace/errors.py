"""TraceError: an unreadable input or a bad request, with a message and a hint for the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_privateuse1 import i18n


class TraceError(Exception):
    """Input that cannot be read, or a request that it cannot answer, in words for the user."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def packed(self) -> dict[str, Any]:
        """Return the error as plain JSON, for another process."""
        fields = {"code": self.code, "message": self.message, "hint": self.hint}
        return {name: i18n.pack(text) for name, text in fields.items()}

    @classmethod
    def unpacked(cls, fields: Mapping[str, Any]) -> TraceError:
        """Build the error from the result of ``packed``."""
        return cls(**{name: i18n.unpack(text) for name, text in fields.items()})


def no_event(path: str) -> TraceError:
    """Return the error of a file without the event that was read from it before."""
    hint = i18n.say("Was it written again since it was read? Reload the list of runs.")
    return TraceError("no_event", i18n.say("{path} has no such event.", path=path), hint)
