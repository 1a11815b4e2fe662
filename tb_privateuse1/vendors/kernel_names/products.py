"""Parse names of matrix products and convolutions: cuBLAS, CUTLASS, cuDNN, TensorRT-LLM.

A name has the types, the operation and the tile between underscores:
``cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8`` multiplies bf16 in tiles of
128×64×64, six at a time.
"""

from __future__ import annotations

import re

from tb_privateuse1.trace.work_kinds import Kind
from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.cpp_name import NamePart
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName

_OPERATION = re.compile(
    r"(?P<acc>[a-z]?)(?P<inst>[\dx]*)(?P<what>gemm(?:k1|sn|vnsp|v2t|v2n)?|gemv\w*|symm|syrk|trsm|trmm"
    r"|fprop|dgrad|wgrad|scudnn|hcudnn|cudnn)",
)
_ACCUMULATORS = {
    "s": "f32",
    "h": "f16",
    "d": "f64",
    "i": "i8",
    "c": "c64",
    "z": "c128",
    "b": "bf16",
}
_TILES = re.compile(r"(?:(?<=_)|(?<=tilesize)|(?<=_t)|(?<=^))(\d+)x(\d+)(?:x(\d+))?(?=_|u\d|$)")
_CONVOLUTIONS = {
    "fprop": "convolution fwd",
    "dgrad": "convolution bwd data",
    "wgrad": "convolution bwd weight",
}
_NVJET = re.compile(r"nvjet_(?:sm\d+_)?(?P<types>[a-z]{3})_")
_NVJET_TYPES = {"t": "bf16", "h": "f16", "s": "tf32", "d": "f64", "q": "f8", "o": "f4"}
_TRTLLM = re.compile(r"(?P<what>bmm|gemm)_(?P<out>[A-Z]\w*?)_(?P<pair>[A-Z]\w*?)_Fp32_t")
_TRTLLM_TYPE = re.compile(r"Bfloat16|Fp16|Fp32|MxE4m3|MxE2m1|E4m3|E2m1|E5m2")
_EXTRAS = (("relu", "relu"), ("gelu", "gelu"), ("swiglu", "swiglu"), ("splitk", "split-K"))
_HELPERS = {
    "splitkreduce": "GEMM split-K reduce",
    "global": "GEMM epilogue",
    "dot": "dot product",
    "reduce_1block": "dot product reduce",
    "computeoffsets": "convolution offsets",
    "computeboffsets": "convolution offsets",
    "computewgradsplitkoffsets": "convolution offsets",
    "computewgradboffsets": "convolution offsets",
    "scal": "scale",
}
"""Small kernels around a product, in lower case and without ``kernel``."""
_ENGINES = re.compile(
    r"implicit_convolve|explicit_convolve|precomputed_convolve|convolve_common_engine|winograd"
    r"|(?P<way>dgrad|wgrad|fprop)\w*(engine|alg)|cudnn_?convol|conv_?depthwise|depthwise_?conv"
    r"|conv\dd\w*_kernel|fft\dd_[rc]2[rc]|flip_filter|cf32gemm|_conv_",
    re.IGNORECASE,
)


def read_product(kernel: Kernel) -> KernelName | None:
    """Return ``GEMM bf16 128×64×64`` or ``convolution bwd data f32 128×128``."""
    name = kernel.name
    if found := _NVJET.match(name):
        kinds = [_NVJET_TYPES.get(letter) for letter in found["types"]]
        return _named("GEMM", kinds[0] or kinds[1], name)
    if found := _TRTLLM.match(name):
        pair = [data_types.of_word(one.lower()) for one in _TRTLLM_TYPE.findall(found["pair"])]
        both = "·".join(dict.fromkeys(one for one in pair if one))
        return _named("batched GEMM" if found["what"] == "bmm" else "GEMM", both or None, name)
    lower = name.lower()
    if title := _HELPERS.get(lower.removesuffix("kernel").removesuffix("_")):
        work: Kind = "convolution" if "convolution" in title else "gemm"
        return KernelName(" ".join(filter(None, (title, kernel.operand_type))), work)
    engine = _by_engine(kernel) if "convolve" in lower else None
    return engine or _by_operation(kernel, lower) or _by_engine(kernel) or _by_template(kernel)


def _by_operation(kernel: Kernel, name: str) -> KernelName | None:
    """Return the product of a name in which a piece says how it is multiplied."""
    pieces = name.split("_")
    for piece in pieces:
        found = _OPERATION.match(piece)
        if not found or found.end() < len(piece) or piece == "cudnn":  # the library's prefix
            continue
        what = found["what"]
        inner = next((way for way in _CONVOLUTIONS if way in pieces or way == what), None)
        title = _CONVOLUTIONS[inner] if inner else "GEMM"
        if "cudnn" in what:
            title = "convolution winograd" if "winograd" in name else "convolution"
        elif what.startswith("gemv"):
            title = "GEMV"
        kind = _type(kernel, pieces, found)
        return _named(title, kind, kernel.name) if kind or _tile(kernel.name) else None
    return None


def _type(kernel: Kernel, pieces: list[str], found: re.Match[str]) -> str | None:
    """Return the type of the operands: a piece's, else the accumulator's letter."""
    if any("tf32" in piece for piece in pieces):
        return "tf32"
    for piece in pieces:
        if kind := data_types.of_pair(piece):
            return kind.partition("·")[0] if "xmma" in pieces else kind
    if kernel.part and kernel.operand_type:
        return kernel.operand_type
    letter = found["acc"] or ("s" if found["what"] == "scudnn" else found["what"][0])
    if found["what"] in ("scudnn", "hcudnn"):
        return "f32" if found["what"] == "scudnn" else "f16"
    if letter == "s" and found["inst"]:
        return "tf32" if found["inst"] in ("1688", "16816", "64x128x8") else "f16"
    return _ACCUMULATORS.get(letter)


def _by_engine(kernel: Kernel) -> KernelName | None:
    found = _ENGINES.search(kernel.name)
    if not found:
        return None
    lower = kernel.name.lower()
    way = next((way for way in _CONVOLUTIONS if way in lower), None)
    title = _CONVOLUTIONS[way] if way else "convolution"
    if "winograd" in lower:
        title += " winograd"
    return _named(title, kernel.operand_type, "")


def _by_template(kernel: Kernel) -> KernelName | None:
    """Return the product of a CUTLASS kernel with its shapes as template arguments."""
    if not kernel.part:
        return None
    parts = list(kernel.part.inside())
    names = " ".join(one.name for one in parts).lower()
    if "gemm" not in kernel.name.lower() and not re.search(r"gemmuniversal|gemmkernel", names):
        return None
    tile = next((shape for one in parts if (shape := _shape(one))), None)
    if "convolution" in kernel.name.lower():
        words = ["convolution", kernel.operand_type]
        return KernelName(" ".join(filter(None, (*words, tile))), "convolution")
    words = ["grouped GEMM" if "group" in kernel.name.lower() else "GEMM", kernel.operand_type]
    return KernelName(" ".join(filter(None, (*words, tile))), "gemm")


def _shape(part: NamePart) -> str | None:
    """Return ``128×64×32`` of ``GemmShape<128, 64, 32>`` or of a tuple of three constants."""
    if part.name not in ("GemmShape", "tuple") or len(part.args or ()) != 3:
        return None
    sizes = [one.args[0].name if one.args else one.name for one in part.args or ()]
    whole = all(size.isdigit() and int(size) > 1 for size in sizes)
    return "×".join(sizes) if whole else None


def _named(title: str, kind: str | None, name: str) -> KernelName:
    lower = name.lower()
    extras = [shown for spelled, shown in _EXTRAS if spelled in lower.split("_")]
    words = filter(None, (title, kind, _tile(name), *extras))
    return KernelName(" ".join(words), "convolution" if "convolution" in title else "gemm")


def _tile(name: str) -> str | None:
    """Return ``128×64×32`` of ``128x64_32x6``: the second pair has depth and stages."""
    found = _TILES.findall(name)
    if not found:
        return None
    rows, columns, depth = found[0]
    if not depth and len(found) > 1 and not found[1][2] and int(found[1][0]) >= 8:
        depth = found[1][0]
    return "×".join(filter(None, (rows, columns, depth)))
