"""Map torch's data types to those of a device's peak rates: float32, tf32, bfloat16, int8, …"""

from __future__ import annotations

from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.peaks import Rates

RATE_TYPES = Rates.__struct_fields__
"""Names of rates; a column of types holds indices into them."""
FP64, FP32, TF32, BF16, FP16, FP8, FP4, INT8 = range(len(RATE_TYPES))

_NAMES = {
    "double": FP64,
    "float64": FP64,
    "c10::complex<double>": FP64,
    "complex128": FP64,
    "float": FP32,
    "float32": FP32,
    "c10::complex<float>": FP32,
    "complex64": FP32,
    "c10::bfloat16": BF16,
    "bfloat16": BF16,
    "c10::half": FP16,
    "half": FP16,
    "float16": FP16,
    "c10::complex<c10::half>": FP16,
    "complex32": FP16,
    "signed char": INT8,
    "int8": INT8,
    "unsigned char": INT8,
    "uint8": INT8,
    "c10::qint8": INT8,
    "c10::quint8": INT8,
}
"""C++ names of ``Input type`` and Python names, in lower case. Wider integers and bool have no
rate: data sheets give none."""


def rate_type(name: str) -> int:
    """Return the index of a torch type in ``RATE_TYPES``; NONE if there is no rate for it.

    A complex type counts as its parts, as operators count the FLOPs of those.
    """
    plain = name.lower().removeprefix("torch.")
    for prefix, index in (("float8", FP8), ("float4", FP4)):
        if plain.removeprefix("c10::").startswith(prefix):
            return index
    return _NAMES.get(plain, NONE)
