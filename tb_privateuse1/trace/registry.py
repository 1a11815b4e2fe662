"""A table of names whose modules are imported when an entry is asked for."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar, cast

_T = TypeVar("_T")

_importing = threading.RLock()
"""One import at a time: msgspec crashes if two threads inspect one class at once."""


class Registry(Mapping[str, _T]):
    """Entries by name, each in a module of its own: ``name`` in ``package``.

    An entry is what its module calls ``attribute``, by default what has the module's name. To list,
    count or look for names imports nothing; ``values()`` and ``items()`` import what they yield.
    """

    def __init__(self, package: str, names: Iterable[str], attribute: str | None = None) -> None:
        self._package = package
        self._names = dict.fromkeys(names)
        self._attribute = attribute

    def __getitem__(self, name: str) -> _T:
        """Return an entry. Raises KeyError for an unknown name, else what its module raises."""
        if name not in self._names:
            raise KeyError(name)
        return cast(_T, imported(f"{self._package}.{name}", self._attribute or name))

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def imported(module: str, name: str) -> Any:
    """Import a module and return what it calls ``name``."""
    with _importing:
        return getattr(importlib.import_module(module), name)


class OnCall:
    """A function of a module that is imported when it is called."""

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def function(self) -> Callable[..., Any]:
        """Import the module and return the function."""
        return cast(Callable[..., Any], imported(self._module, self._name))

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.function()(*arguments, **options)
