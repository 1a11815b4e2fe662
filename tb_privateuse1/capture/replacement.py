"""Replace ``torch.profiler.profile`` by our profiler, for frameworks that construct it.

Such a framework may have imported the class long before, so its name cannot be replaced. What
constructing it returns can: ``__new__`` of torch's class makes an object of a subclass, whose
``__init__`` Python then calls. ``isinstance`` and other subclasses are as before.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture import backend
from tb_privateuse1.capture.warnings import CaptureWarning

_installed: list[type[torch_profile]] = []
"""The class to construct, if any."""
_MARK = "_stands_in"
_noted: set[type[Any]] = set()
"""Classes of profilers that were warned of."""


def replace(ours: type[torch_profile]) -> None:
    """Let ``torch.profiler.profile(...)`` construct ``ours``, a subclass of it; may be repeated."""
    _installed[:] = [ours]
    # Set once and never deleted: without it, object.__new__ would refuse any argument from then on.
    if "__new__" not in vars(torch_profile):
        parameters = inspect.signature(torch_profile.__init__).parameters.values()
        _new.__signature__ = inspect.Signature(list(parameters))  # type: ignore[attr-defined]
        torch_profile.__new__ = staticmethod(_new)  # type: ignore[method-assign]


def restore() -> None:
    """Let it construct torch's own again."""
    _installed.clear()


def stands_in(prof: torch_profile) -> bool:
    """Return whether it was constructed in the place of torch's."""
    return _MARK in vars(prof)


def _new(cls: type[Any], *_: Any, **__: Any) -> Any:
    if cls is not torch_profile or not _installed:
        if _installed and not issubclass(cls, _installed[0]):
            _note_subclass(cls)
        return object.__new__(cls)
    made = object.__new__(_installed[0])
    setattr(made, _MARK, True)
    return made


def _note_subclass(cls: type[Any]) -> None:
    """Warn that a profiler of another class does not record the device, once for each class."""
    if cls in _noted or not backend.is_current():
        return
    _noted.add(cls)
    warnings.warn(
        f"[subclass] {cls.__qualname__} derives from torch.profiler.profile, so that it does not "
        f"record {backend.backend_name()!r}; derive it from tb_privateuse1.capture.profile",
        CaptureWarning,
        stacklevel=3,
    )


def show_options(own: Callable[..., None], of: Callable[..., None]) -> None:
    """Give ``own``, which passes its ``**options`` on to ``of``, a signature that names them.

    A framework passes only those arguments that it finds in the signature.
    """
    mine = inspect.signature(own).parameters.values()
    named = [one for one in mine if one.kind is not inspect.Parameter.VAR_KEYWORD]
    known = {one.name for one in named}
    theirs = inspect.signature(of).parameters.values()
    more = [one for one in theirs if one.name not in known]
    own.__signature__ = inspect.Signature([*named, *more])  # type: ignore[attr-defined]
