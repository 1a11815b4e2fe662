"""Warnings of the capture: a stable code and a message.

Every code is explained in ``docs/guide/capture.md``. Notes are collected first and shown once the
work at hand is done, so that a warning that a program turns into an error costs no file.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field


class CaptureWarning(UserWarning):
    """The recording is poorer than it was meant to be; the program runs on."""


@dataclass
class Notes:
    """The notes of one profiler, in order, each code once."""

    found: dict[str, str] = field(default_factory=dict)
    shown: set[str] = field(default_factory=set)

    def add(self, code: str, message: str) -> None:
        """Keep the first message of a code."""
        self.found.setdefault(code, message)

    def renew(self, code: str, message: str) -> None:
        """Keep the last message of a code, and show it even if one was shown before."""
        self.found[code] = message
        self.shown.discard(code)

    def show(self) -> None:
        """Warn of what has not been shown yet; may raise where warnings are errors."""
        new = [code for code in self.found if code not in self.shown]
        self.shown.update(new)
        for code in new:
            warnings.warn(f"[{code}] {self.found[code]}", CaptureWarning, stacklevel=3)

    def as_json(self) -> list[dict[str, str]]:
        """The form in which trace and sidecar carry them."""
        return [{"code": code, "message": message} for code, message in self.found.items()]
