"""Parse kernel names of AMD's libraries: Tensile, Composable Kernel, MIOpen, rocPRIM.

Tensile's names are ``Cijk_Alik_Bljk_BBS_BH_…_MT256x192x64_…``: indices of the product, letters of
the data types, options, and the macro tile (https://rocm.docs.amd.com/projects/Tensile).
"""

from __future__ import annotations

import re

from tb_privateuse1.trace.work_kinds import Kind
from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName

_TENSILE = re.compile(
    r"(?:Custom_)?C[i-n]+_A[i-n]+_B[i-n]+_(?P<type>F8N?|B8N?|F8B8N?|B8F8N?|I8|4xi8|[BHSDZC])"
)
_TENSILE_TYPES = {"B": "bf16", "H": "f16", "S": "f32", "D": "f64", "C": "c64", "Z": "c128"}
_TENSILE_SMALL = {"F": "f8e4m3", "I": "i8", "4": "i8"}
_TILE = re.compile(r"(?<=_)MT(\d+)x(\d+)x(\d+)")
_ASSEMBLED = re.compile(
    r"(?:miopen(?P<asm>\w*?Conv\w*)|igemm_(?P<way>fwd|bwd|wrw)_\w+?_(?P<type>fp32|fp16|bf16)"
    r"|naive_conv_\w*?(?P<naive>fwd|bwd|wrw)|gfx\w*?Conv|(?:Im2|Col2)\w+2?(?:Col|Im)\b)",
    re.IGNORECASE,
)
_WAYS = {"fwd": "fwd", "bwd": "bwd data", "wrw": "bwd weight"}
_IGEMM_TILE = re.compile(r"_bt(\d+)x(\d+)x(\d+)")
_NO_OPERANDS = ("f32", "i32", "i64", "bool", "i8", "u8")
_PRIMITIVE = re.compile(r"(?:wrapped_)?(\w+?)_(?:impl|config)$")


def read_amd(kernel: Kernel) -> KernelName | None:
    """Return ``GEMM bf16 256×192×64`` of a kernel of Tensile, and the likes of the others."""
    name = kernel.name
    if found := _TENSILE.match(name):
        kind = found["type"]
        short = _TENSILE_TYPES.get(kind) or (
            "f8e5m2" if kind.startswith("B8") else _TENSILE_SMALL[kind[0]]
        )
        return KernelName(" ".join(filter(None, ("GEMM", short, _size(_TILE, name)))), "gemm")
    if found := _ASSEMBLED.match(name):
        way = (found["way"] or found["naive"] or "").lower()
        kind = data_types.of_word((found["type"] or "").lower()) or kernel.data_type
        words = ("convolution", _WAYS.get(way), kind, _size(_IGEMM_TILE, name))
        return KernelName(" ".join(filter(None, words)), "convolution")
    if name == "trampoline_kernel" and kernel.part:
        return _primitive(kernel)
    return _composable(kernel)


def _primitive(kernel: Kernel) -> KernelName | None:
    """Return what a kernel of rocPRIM does, by the configuration in its arguments."""
    for one in kernel.part.inside() if kernel.part else ():
        if found := _PRIMITIVE.match(one.name):
            work = found[1].replace("_", " ").strip()
            if work and work != "default":
                family: Kind = "indexing" if "sort" in work else "reduction"
                return KernelName(" ".join(filter(None, (work, kernel.data_type))), family)
    return None


def _composable(kernel: Kernel) -> KernelName | None:
    """Return the products and convolutions of Composable Kernel."""
    lower = kernel.name.lower()
    if not kernel.part or not lower.startswith("kernel_") or kernel.part.namespaces[:1] != ("ck",):
        return None
    if "conv" in lower or "bwd_weight" in lower:
        way = next((said for key, said in _WAYS.items() if key in lower), None)
        if "bwd_weight" in lower:
            way = "bwd weight"
        words = ("convolution", way, _operands(kernel))
        return KernelName(" ".join(filter(None, words)), "convolution")
    if "gemm" not in lower:
        return None
    prefix = "batched " if "batched" in lower else "grouped " if "grouped" in lower else ""
    return KernelName(" ".join(filter(None, (f"{prefix}GEMM", _operands(kernel)))), "gemm")


def _operands(kernel: Kernel) -> str | None:
    """Return the first type that only operands have; float may be the accumulator's."""
    parts = kernel.part.inside() if kernel.part else ()
    kinds = (data_types.of_part(one) for one in parts if not one.pointer)
    return next((kind for kind in kinds if kind and kind not in _NO_OPERANDS), None)


def _size(pattern: re.Pattern[str], name: str) -> str | None:
    found = pattern.search(name)
    return "×".join(found.groups()) if found else None
