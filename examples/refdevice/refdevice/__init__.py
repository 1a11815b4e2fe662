"""A small PrivateUse1 backend: `device="refdev"`, `torch.refdev`, `tensor.refdev()`.

The order below is the order in which a vendor's package registers itself with torch.
"""

import atexit
import os

import torch

from . import extension

_C = extension.load()  # allocator, guard, hooks and operators register as the library is loaded

from . import device, faults, truth  # noqa: E402
from .settings import config, configure, configure_from_environment  # noqa: E402

__all__ = ["config", "configure", "register_kineto", "register_stubs", "truth"]


def register_stubs() -> None:
    """Turn the profiler's event route on. The import does, unless REFDEVICE_STUBS=0."""
    _C.register_profiler_stubs()


def register_kineto(way: str = "1") -> None:
    """Turn the profiler's native route on. The import does, as REFDEVICE_KINETO says.

    ``1``: by torch's registry; ``direct``: with libkineto itself, past torch; ``empty``: by the
    registry, but the profiler records nothing; ``counters``: by the registry, with a counter.
    """
    if way not in ("1", "direct", "empty", "counters"):
        raise ValueError(f"register by 1, direct, empty or counters, not by {way!r}")
    if way == "direct":
        _C.register_with_libkineto()
        return
    if way == "empty":
        _C.record_no_activities()
    if way == "counters":
        _C.record_counters()
    _C.register_kineto_profiler()


configure_from_environment(os.environ)
_fault = str(config()["fault"])  # reference only, with all that asks for it

# Without the renaming, the profiler's `use_device` and `device="refdev"` know nothing of it.
if _fault != "unnamed":
    torch.utils.rename_privateuse1_backend("refdev")
if _fault != "no_module":
    torch._register_device_module(torch._C._get_privateuse1_backend_name(), device)
torch.utils.generate_methods_for_privateuse1_backend(
    for_storage=True,  # Storage.refdev(); there are no kernels for quantized values
    unsupported_dtype=[torch.quint8, torch.quint4x2, torch.quint2x4, torch.qint8, torch.qint32],
)

faults.remove_what_is_not_named(device, _fault)
faults.err_in_launch_log(device, _fault)
_library = faults.replace_operators(_fault)
_C.listen_for_external_ids()
if os.environ.get("REFDEVICE_STUBS", "1") != "0":
    register_stubs()
if os.environ.get("REFDEVICE_KINETO", "0") != "0":
    register_kineto(os.environ["REFDEVICE_KINETO"])

# The workers have to end while torch's libraries are still whole.
atexit.register(_C.stop)
