"""What is wrong with an input or a question, in words for the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tb_privateuse1 import i18n


class TraceError(Exception):
    """Input that cannot be read, or a question that it cannot answer, in words for the user."""

    def __init__(self, code: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    def packed(self) -> dict[str, Any]:
        """What one process tells another of it, as plain JSON."""
        told = {"code": self.code, "message": self.message, "hint": self.hint}
        return {name: i18n.pack(text) for name, text in told.items()}

    @classmethod
    def unpacked(cls, told: Mapping[str, Any]) -> TraceError:
        """The error that ``packed`` told."""
        return cls(**{name: i18n.unpack(text) for name, text in told.items()})
