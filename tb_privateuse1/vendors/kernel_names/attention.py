"""Parse names of attention kernels: FlashAttention, cuDNN, xFormers, CK, vLLM and others."""

from __future__ import annotations

import re

from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName

_FLASH = re.compile(r"flash_?(fwd|bwd|attn|attention|prefill|decode)|FlashAttn", re.IGNORECASE)
_ATTENTION = re.compile(
    r"fmha|attention|(?<![a-z])(attn|mha|mla|sdpa)(?![a-z])|FlashAttn"
    r"|(prefill|decode)with(paged|ragged)?kvcache"
    r"|bwd_kernel_(dk_?dv|dq)$|bwd_preprocess",
    re.IGNORECASE,
)
_NOT = re.compile(r"cache_kernel|reshape_and_cache|rope|rotary|norm", re.IGNORECASE)
_HEAD = re.compile(r"(?:_hd|(?<![a-zA-Z])d(?=\d+_)|(?<=[a-z0-9])H(?=\d+[A-Z]))(\d+)")
_TRAITS = re.compile(r"(traits|Traits)")
_TILE = re.compile(r"(?<=_)(\d+)x(\d+)(?=_)")
_TRTLLM = re.compile(r"fmhaSm\w*?Qkv(E4m3|E5m2|Bfloat16|Fp16)")
_FLAGS = ("paged", "unified", "varlen", "sliding", "chunked", "causal", "splitkv", "combine")
_PARTS = (("dq dk dv", "dq_?dk_?dv"), ("dk dv", "dk_?dv"), ("dq", "(?<![a-z])dq"))
_STEPS = ("preprocess", "convert", "prepare", "dot_do_o", "reduce")


def read_attention(kernel: Kernel) -> KernelName | None:
    """Return ``flash attention fwd bf16 d64`` of a kernel of attention."""
    name = kernel.name
    if not _ATTENTION.search(name) and not _FLASH.search(name):
        return None
    if _NOT.search(name):
        return None
    lower = name.lower()
    flags = [flag for flag in _FLAGS if flag in lower]
    steps = [step.replace("_", " ") for step in _STEPS if step in lower]
    grads = [short for short, spelled in _PARTS if re.search(spelled, lower)][:1]
    backward = grads or re.search(r"bwd|backward|grad|fmha_cutlassb", lower)
    forward = re.search(r"fwd|forward|prefill|decode|fmha_cutlassf|fmhasm|fprop", lower)
    before = [flag for flag in flags if flag in ("paged", "unified")]
    behind = [flag for flag in flags if flag not in before]
    words = [
        *before,
        "flash attention" if _FLASH.search(name) else "attention",
        "bwd" if backward else "fwd" if forward else "",
        *(grads + steps + behind),
        _type(kernel) or "",
        _size(kernel),
    ]
    return KernelName(" ".join(word for word in words if word), "attention")


def _type(kernel: Kernel) -> str | None:
    if found := _TRTLLM.search(kernel.name):
        return data_types.of_word(found[1].lower())
    return kernel.data_type


def _size(kernel: Kernel) -> str:
    """Return the head's size, ``d64``, else the tile."""
    if found := _HEAD.search(kernel.name):
        return f"d{found[1]}"
    for one in kernel.part.inside() if kernel.part else ():
        first = one.args[0].name if one.args and _TRAITS.search(one.name) else ""
        if first.isdigit():
            return f"d{first}"
    found = _TILE.search(kernel.name)
    return f"{found[1]}×{found[2]}" if found else ""
