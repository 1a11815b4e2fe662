"""Read this process's PrivateUse1 backend, its rank, and the abilities of torch's profiler.

Names are asked for, never assumed: after ``rename_privateuse1_backend`` torch itself calls the
device, the enum members and the module by the vendor's name.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.autograd.profiler import profile as autograd_profile
from torch.profiler import ProfilerActivity
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture.warnings import Notes

UNNAMED = "privateuseone"
"""The backend's name before ``rename_privateuse1_backend``; torch's profiler refuses it."""

PRIVATEUSE1: ProfilerActivity | None = getattr(ProfilerActivity, "PrivateUse1", None)
"""The activity, which the oldest supported versions of torch do not have."""


def _internal(name: str) -> Any:
    """Return what torch has under this dotted name, or None: a later torch may have moved it."""
    value: Any = torch
    for part in name.split(".")[1:]:
        value = getattr(value, part, None)
    return value


FALLBACK: Any = _internal("torch._C._profiler.ProfilerState.KINETO_PRIVATEUSE1_FALLBACK")
"""The profiler state in which torch calls the vendor's ``ProfilerStubs``."""
KINETO_EVENT: Any = _internal("torch._C._autograd._KinetoEvent")
"""The class of the profiler's rows."""


def backend_name() -> str:
    """The name that the vendor gave to PrivateUse1, or ``UNNAMED``."""
    name = _internal("torch._C._get_privateuse1_backend_name")
    return UNNAMED if name is None else str(name())


def is_current() -> bool:
    """Return whether the machine's accelerator is the renamed PrivateUse1 backend."""
    name = backend_name()
    if name == UNNAMED or not hasattr(torch, name):
        return False
    try:
        device = torch.accelerator.current_accelerator()
        return device is not None and device.type == name and torch.accelerator.is_available()
    except (AttributeError, RuntimeError):  # before torch 2.6, or a backend without hooks
        return bool(getattr(getattr(torch, name), "is_available", lambda: True)())


def synchronize() -> None:
    """Wait for the current device; raises RuntimeError where the backend offers no way.

    ``torch.accelerator`` comes first: a vendor's module may have no ``synchronize``. A backend that
    cannot wait for its device may do so for a stream (mycelya-torch).
    """
    failed = "the backend has no synchronize"
    for module in (getattr(torch, "accelerator", None), getattr(torch, backend_name(), None)):
        if hasattr(module, "synchronize"):
            try:
                module.synchronize()  # type: ignore[union-attr]
                _wait_for_stream()
                return
            except Exception as error:
                failed = f"{type(error).__name__}: {error}"
    if not _wait_for_stream():
        raise RuntimeError(failed)


def _wait_for_stream() -> bool:
    """Wait for the current stream; return False where that is impossible.

    In torch 2.6 ``torch.accelerator.synchronize`` returns at once for a backend whose module has
    no ``_lazy_init``: torch takes its device for one that was never used.
    """
    try:
        torch.accelerator.current_stream().synchronize()
    except Exception:  # before torch 2.6, or a backend without streams
        return False
    return True


def make_event(backend: str) -> Any:
    """Return an event of the device; raises what the backend raises if it has none."""
    try:
        return torch.Event(device=backend)
    except Exception:  # an older torch, or a guard that makes no events
        return getattr(torch, backend).Event()


def tells_event_times() -> bool:
    """Return whether the backend tells when the device executed the profiler's events."""
    return hasattr(getattr(torch, backend_name(), None), "event_times")


def profiler_runs() -> bool:
    """Return whether torch's profiler records in this thread, or another one that torch knows."""
    everywhere = getattr(torch.autograd.profiler, "_is_profiler_enabled", False)
    return bool(torch._C._autograd._profiler_enabled() or everywhere)


def has_process_group() -> bool:
    """Return whether ``torch.distributed`` is initialized: then torch records the rank."""
    return torch.distributed.is_available() and torch.distributed.is_initialized()


def rank_and_world_size() -> tuple[int | None, int | None]:
    """From the process group, else from the launcher's environment, else unknown."""
    if has_process_group():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return _environment("RANK"), _environment("WORLD_SIZE")


def _environment(name: str) -> int | None:
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else None


def has_native_profiler() -> bool | None:
    """Return whether the vendor registered a Kineto profiler (``REGISTER_PRIVATEUSE1_PROFILER``).

    None where torch has no such registry or it cannot be asked. Python has no access to it, so
    the exported C++ functions are called.
    """
    instance = _symbol("_ZN5torch8profiler4impl27PrivateUse1ProfilerRegistry8instanceEv")
    has_factory = _symbol("_ZNK5torch8profiler4impl27PrivateUse1ProfilerRegistry10hasFactoryEv")
    if instance is None or has_factory is None:
        return None
    instance.restype, instance.argtypes = ctypes.c_void_p, []
    has_factory.restype, has_factory.argtypes = ctypes.c_bool, [ctypes.c_void_p]
    return bool(has_factory(instance()))


def has_stubs() -> bool | None:
    """Return whether the vendor registered ``ProfilerStubs``; None if that is unknown.

    Asking beforehand matters: without them torch prints a C++ stack for every operator. Until a
    vendor registers its own, torch returns an object of a class named ``DefaultStubs``; the
    name is where the Itanium C++ ABI (section 2.9.5) keeps it, behind the virtual table.
    """
    stubs = _symbol("_ZN5torch8profiler4impl16privateuse1StubsEv")
    if stubs is None:
        return None
    stubs.restype, stubs.argtypes = ctypes.c_void_p, []
    pointer = ctypes.c_void_p
    table = pointer.from_address(stubs()).value or 0
    type_info = pointer.from_address(table - ctypes.sizeof(pointer)).value or 0
    name = ctypes.c_char_p.from_address(type_info + ctypes.sizeof(pointer)).value
    return name is None or b"12DefaultStubs" not in name  # mangled: its length stands before it


def _symbol(name: str) -> Any:
    try:
        return getattr(torch_library(), name)
    except (OSError, AttributeError):  # another platform or version of torch
        return None


def torch_library() -> ctypes.CDLL:
    """Return the C++ library of the running torch; raises OSError on another platform."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    # RTLD_NOLOAD: the library of the running torch, or none.
    return ctypes.CDLL(str(library), mode=os.RTLD_NOLOAD)


def missing_internals() -> str | None:
    """Return the torch internal that the event route needs and this version lacks, or None."""
    if FALLBACK is None:
        return "ProfilerState.KINETO_PRIVATEUSE1_FALLBACK"
    if not hasattr(KINETO_EVENT, "privateuse1_elapsed_us"):
        return "_KinetoEvent.privateuse1_elapsed_us"
    for method in ("prepare_trace", "start_trace", "stop_trace", "add_metadata_json"):
        if not hasattr(torch_profile, method):
            return f"torch.profiler.profile.{method}"
    try:
        inner = autograd_profile(use_kineto=True)
    except Exception as error:
        return f"torch.autograd.profiler.profile(use_kineto=True): {error}"
    for attribute in ("profiler_kind", "use_device", "config"):
        if not hasattr(inner, attribute):
            return f"torch.autograd.profiler.profile.{attribute}"
    return None


_COLUMNS = ("host_ns", "thread", "device", "stream")


@dataclass
class LaunchLog:
    """The launches of one cycle: columns of equal length, or None if the backend cannot tell.

    It does by two functions of its module (docs/guide/capture.md, Launches).
    """

    backend: str
    columns: dict[str, list[int]] | None = None
    _on: bool = False

    def start(self, notes: Notes) -> None:
        """Forget the last cycle, and let the backend log from now on."""
        self.columns, self._on = None, False
        module = getattr(torch, self.backend, None)
        if not (hasattr(module, "start_launch_log") and hasattr(module, "stop_launch_log")):
            return
        try:
            module.start_launch_log()  # type: ignore[union-attr]
            self._on = True
        except Exception as error:
            _log_failed(notes, error)

    def stop(self, notes: Notes) -> None:
        """Take over what was logged."""
        if not self._on:
            return
        self._on = False
        try:
            lists = list(getattr(torch, self.backend).stop_launch_log())
            if len(lists) != len(_COLUMNS):
                raise ValueError(f"it returned {len(lists)} lists, not {len(_COLUMNS)}")
            columns = dict(zip(_COLUMNS, ([int(value) for value in one] for one in lists)))
            if len({len(values) for values in columns.values()}) != 1:
                raise ValueError("its lists are not of one length")
            self.columns = columns
        except Exception as error:
            _log_failed(notes, error)


def _log_failed(notes: Notes, error: Exception) -> None:
    notes.add(
        "launches-failed",
        f"the launch log of the backend failed, launches are inferred: "
        f"{type(error).__name__}: {error}",
    )
