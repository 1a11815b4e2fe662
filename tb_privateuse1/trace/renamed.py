"""Old names of a result's fields, for one release (docs/reference/stability.md)."""

from __future__ import annotations

import warnings
from typing import Any


def renamed(old: str, new: str) -> property:
    """Return the property of an old name: it warns, and has the value of the new field."""

    def value(result: Any) -> Any:
        name = type(result).__name__
        message = f"{name}.{old} is {name}.{new} now; the old name ends with the next release"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(result, new)

    return property(value)
