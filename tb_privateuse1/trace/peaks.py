"""Define the types of a device's peak rates, Peak and Rates; ``vendors`` holds the figures."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Source = Literal["data_sheet", "user_file"]


class Rates(Struct, frozen=True):
    """Rates of dense arithmetic by data type, 1e12 operations per second; None if not known."""

    fp64: float | None = None
    fp32: float | None = None
    """Products of float32 in full precision, not in TF32."""
    tf32: float | None = None
    bf16: float | None = None
    fp16: float | None = None
    fp8: float | None = None
    fp4: float | None = None
    int8: float | None = None


class Peak(Struct, frozen=True):
    """The peak rates of a device: dense, in one direction, None if not known.

    docs/reference/vendors.md names the source of each.
    """

    device_names: re.Pattern[str]
    matrix: Rates = Rates()
    """Products of matrices on the matrix unit."""
    vector: Rates = Rates()
    """Arithmetic outside of the matrix unit."""
    memory_gb_per_s: float | None = None
    """Bandwidth of the device's own memory, 1e9 bytes per second."""
    cache_mb: float | None = None
    """Size of the last cache before that memory, 2^20 bytes: what fits may be faster."""
    link: str = ""
    """The name of the links to other devices: ``NVLink``."""
    link_gb_per_s: float | None = None
    """Bandwidth of all these links together, in one direction."""
    host_gb_per_s: float | None = None
    """Bandwidth to the host, in one direction."""
    source: Source = "data_sheet"

    @property
    def half_tflops(self) -> float | None:
        """Return the rate of products in bfloat16, or in float16 without a rate for it."""
        return self.matrix.fp16 if self.matrix.bf16 is None else self.matrix.bf16
