"""The bodies of HTTP answers without a view's result."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Problem:
    """An error in words for the user, and what to do about it."""

    code: str
    message: str
    hint: str | None


@dataclasses.dataclass(frozen=True)
class ApiError:
    """The body of every answer with an error status."""

    error: Problem


@dataclasses.dataclass(frozen=True)
class Cancelled:
    """The answer to ``cancel``: whether a trace was being read or in the queue."""

    cancelled: bool


@dataclasses.dataclass(frozen=True)
class Extras:
    """Optional abilities of this server: they depend on installed packages and on its address."""

    perfetto: bool
    """It has Perfetto's pages."""
    sql_installed: bool
    sql_allowed: bool
