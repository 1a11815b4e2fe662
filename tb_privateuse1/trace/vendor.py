"""The Vendor: everything that differs between accelerators, as data."""

from __future__ import annotations

import re

from msgspec import Struct

from tb_privateuse1.i18n import say
from tb_privateuse1.trace.peaks import Peak


class DeviceProcess(Struct, frozen=True):
    """Events without a category that a vendor's own file has in a process of its device.

    The first process of a vendor that matches an event counts.
    """

    names: re.Pattern[str]
    """Match the process's name (``process_name``)."""
    category: str
    """The category that these events get; empty: they are left out."""
    threads: re.Pattern[str] | None = None
    """Match the thread's name; None: any."""
    events: re.Pattern[str] | None = None
    """Match the event's name; None: any."""
    nests: bool = False
    """Ranges around others of their thread are control flow: annotations of the device."""
    onto: re.Pattern[str] | None = None
    """Match the thread of the process whose stream the events are of; None: their own."""
    without: re.Pattern[str] | None = None
    """Match a thread of finer work: the events stand for it where the process has none of it."""
    steps: bool = False
    """The events are steps, named by their numbers. Those of the first process count."""


class Vendor(Struct, frozen=True):
    """One kind of accelerator. Categories are compared in lower case."""

    name: str
    title: str
    """The name that pages show."""
    backends: tuple[str, ...] = ()
    """torch's names of the device: ``cuda``, ``npu``, …"""
    device_types: tuple[int, ...] = ()
    """Values of c10::DeviceType in memory events (c10/core/DeviceType.h)."""
    device_names: re.Pattern[str] | None = None
    """Matches the ``name`` in deviceProperties."""
    evidence_categories: frozenset[str] = frozenset()
    """Categories that only this vendor's traces have, but see ``shared_categories``."""
    shared_categories: frozenset[str] = frozenset()
    """Another vendor's ``evidence_categories`` that its own traces have, too. Then
    ``device_types`` in memory events decide between the two."""
    kernel_categories: frozenset[str] = frozenset({"kernel"})
    memcpy_categories: frozenset[str] = frozenset({"gpu_memcpy", "memcpy"})
    memset_categories: frozenset[str] = frozenset({"gpu_memset", "memset"})
    launch_categories: re.Pattern[str] = re.compile(r"(^|_)(runtime|driver)$|^dequeue$")
    """The host's calls of the device: ``cuda_runtime``, ``privateuse1_driver``, ``Runtime``, …, and
    calls that a task queue makes for it: ``dequeue``."""
    communication_names: re.Pattern[str] | None = None
    """Further kernels that communicate, beside those of ``vendors/kernel_names/collectives.py``."""
    slow_products: re.Pattern[str] | None = None
    """Kernels of matrix products in full precision, for which the device has a faster mode."""
    sparse_tensors: bool = False
    """Whether torch's sparse tensors, and so sparse gradients, run on its device."""
    matrix_unit: str = ""
    """The name of its unit for matrix products."""
    matrix_names: re.Pattern[str] | None = None
    """Names of kernels that use the matrix unit, from its libraries and compilers."""
    communication_prefixes: tuple[str, ...] = ()
    """Prefixes of its communication library's operators: ``nccl`` of ``nccl:all_reduce``."""
    operator_prefixes: tuple[str, ...] = ()
    """Prefixes of its variants of torch's operators: ``cudnn`` of ``cudnn_convolution``."""
    runtime_prefixes: tuple[str, ...] = ()
    """Prefixes of its runtime's calls: ``cuda`` of ``cudaGetDevice``."""
    shares_backend: bool = False
    """Other vendors' devices have its backend too, so the backend is the weakest evidence."""
    processes: tuple[DeviceProcess, ...] = ()
    """The processes of its own files, whose events have no category."""
    device_type_name: str = ""
    """The name of ``device_types`` in pages: ``HIP``."""
    perfetto_gpu_api: int = 0
    """The value of Perfetto's ``InternedGraphicsContext.Api``; 0 is undefined."""
    compute_units: str = say("Multiprocessors")
    """The name of the units that ``numSms`` of deviceProperties counts."""
    cpu_units: re.Pattern[str] | None = None
    """Names of its units for scalar code, on which operators run that its main units lack."""
    conversion_names: re.Pattern[str] | None = None
    """Names of kernels that convert tensors from or to a memory format of its own."""
    record_hint: str = say("Record the device's activity, too.")
    """What to do if a recording lacks the device's activities."""
    peaks: tuple[Peak, ...] = ()
    """The first that matches a device's name counts."""

    def peak(self, device: str) -> Peak | None:
        """Return the peak of a device, by its name in deviceProperties."""
        return next((peak for peak in self.peaks if peak.device_names.search(device)), None)

    @property
    def has_evidence(self) -> bool:
        """Return whether anything distinguishes its traces from others."""
        return bool(
            self.backends or self.device_types or self.device_names or self.evidence_categories
        )


GENERIC = Vendor(
    name="generic",
    title=say("PrivateUse1 device"),
    device_types=(20,),
    device_type_name="PrivateUse1",
    record_hint=say("On a PrivateUse1 device record with our capture."),
)
"""Any other device, as torch itself records a PrivateUse1 backend."""
