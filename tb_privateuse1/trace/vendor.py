"""What differs between accelerators, as data."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tb_privateuse1.i18n import say


@dataclass(frozen=True)
class Peak:
    """What a device can do at best, as its maker publishes it."""

    device_names: re.Pattern[str]
    half_tflops: float | None = None
    """Products of dense matrices in bfloat16 (float16 where there is none), 1e12 per second."""
    memory_gb_per_s: float | None = None
    """Of the device's own memory, 1e9 bytes per second."""


@dataclass(frozen=True)
class Vendor:
    """One kind of accelerator. Categories are compared in lower case."""

    name: str
    title: str
    """As shown to people."""
    backends: tuple[str, ...] = ()
    """What torch calls the device: ``cuda``, ``npu``, …"""
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
    those that a task queue makes for it: ``dequeue``."""
    communication_names: re.Pattern[str] = field(
        default=re.compile(r"nccl|rccl|^(hccl|cncl|oneccl|xccl|mccl)")
    )
    """Kernels that communicate. Not only the vendor's own library: traces mix them."""
    slow_products: re.Pattern[str] | None = None
    """Kernels of products in full precision beside which the device has a faster mode."""
    product_multiple: int | None = None
    """Of which the sizes of products in half precision should be multiples."""
    matrix_unit: str = ""
    """What its unit for matrix products is called."""
    matrix_names: re.Pattern[str] | None = None
    """Kernels that use it, by the names that its libraries and compilers give them."""
    communication_prefixes: tuple[str, ...] = ()
    """How the names of its communication library's operators begin: ``nccl`` of
    ``nccl:all_reduce``."""
    operator_prefixes: tuple[str, ...] = ()
    """How its own variants of torch's operators begin: ``cudnn`` of ``cudnn_convolution``."""
    runtime_prefixes: tuple[str, ...] = ()
    """How the calls of its runtime begin: ``cuda`` of ``cudaGetDevice``."""
    shares_backend: bool = False
    """Other vendors' devices have its backend too, so the backend is the weakest evidence."""
    device_type_name: str = ""
    """The name of ``device_types``, for people: ``HIP``."""
    perfetto_gpu_api: int = 0
    """The value of Perfetto's ``InternedGraphicsContext.Api``; 0 is undefined."""
    compute_units: str = say("Multiprocessors")
    """What ``numSms`` of deviceProperties counts."""
    peaks: tuple[Peak, ...] = ()
    """The first that matches a device's name counts."""

    def peak(self, device: str) -> Peak | None:
        """That of a device, by its name in deviceProperties."""
        return next((peak for peak in self.peaks if peak.device_names.search(device)), None)

    @property
    def is_told(self) -> bool:
        """Whether there is anything by which its traces can be told from others."""
        return bool(
            self.backends or self.device_types or self.device_names or self.evidence_categories
        )


GENERIC = Vendor(
    name="generic",
    title=say("PrivateUse1 device"),
    device_types=(20,),
    device_type_name="PrivateUse1",
)
"""Any other device: what torch itself writes for a PrivateUse1 backend."""
