"""The bodies of HTTP answers without a view's result."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Problem:
    """What went wrong, in words for the user, and what to do about it."""

    code: str
    message: str
    hint: str | None


@dataclasses.dataclass(frozen=True)
class ApiError:
    """The body of every answer with an error status."""

    error: Problem


@dataclasses.dataclass(frozen=True)
class Cancelled:
    """Whether a trace was being read, or waited for it, when it was cancelled."""

    cancelled: bool


@dataclasses.dataclass(frozen=True)
class Extras:
    """What this server can do besides: it depends on what is installed and allowed."""

    perfetto: bool
    """It has Perfetto's pages."""
    sql_installed: bool
    sql_allowed: bool
