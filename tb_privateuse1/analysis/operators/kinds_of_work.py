"""Classify operators by name into kinds of work: gemm, convolution, attention, …

Names are those of torch's native functions (aten/src/ATen/native/native_functions.yaml) without
namespace, overload, the underscores of variants, ``_backward`` and libraries' prefixes. So
``aten::_native_batch_norm_legit``, ``npu::batch_norm`` and ``NativeBatchNormBackward0`` are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import get_args

from msgspec import Struct

from tb_privateuse1.trace import step_names, work_kinds
from tb_privateuse1.trace.vendor import GENERIC, Vendor
from tb_privateuse1.vendors import words
from tb_privateuse1.vendors.kernel_names import SPELLINGS

Kind = work_kinds.Kind

KINDS: tuple[Kind, ...] = get_args(Kind)

WHOLE_NAMES: tuple[tuple[Kind, str], ...] = (
    ("communication", r"(_?c10d|gloo|mpi|ucc|<libraries>)\w*::"),
    ("communication", r"(gloo|mpi|ucc|<libraries>):|record_param_comms"),
    ("compiled", r"triton_|Torch-Compiled|CompiledF|inductor|## Call Compiled"),
    ("optimizer", r"Optimizer\."),
    ("attention", r"\w*(flash_attn|attention)\w*::|xformers\w*::"),
)
"""Matched at the start of the full name, in this order. ``<libraries>`` are the vendors'."""

PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("communication", rf"{SPELLINGS}|barrier"),
    ("optimizer", r"foreach_|fused_(adam|sgd|adagrad)|amp_|split_(adam|sgd)"),
    ("attention", r".*(attention|attn|sdpa?_|multi_?head)"),
    ("convolution", r".*conv(?!ert)|im2col|col2im"),
    ("normalization", r".*(batch|layer|group|instance|rms|weight|response)_?norm|renorm"),
    ("recurrent", r".*(lstm|gru|rnn)(_cell|$|_)|(lstm|gru|rnn)"),
    ("pooling", r".*(pool|upsample|interpolate|grid_sample|pixel_(un)?shuffle)"),
    ("softmax_loss", r".*(softmax|softmin|cross_entropy|_loss|kl_div|logsumexp)"),
    ("indexing", r".*(embedding|index|gather|scatter|searchsorted|one_hot)"),
    ("indexing", r"(take|put|nonzero|topk|sort|argsort|unique|bincount|masked_(select|scatter))"),
    ("gemm", r"(b|add|baddb|addb|int_|scaled_|grouped_|scaled_grouped_|sparse_)?(mm|bmm)\b"),
    ("gemm", r"(matmul|linear|addm[mv]|mv|v?dot|inner|outer|ger|addr|einsum|tensordot|bilinear)\b"),
    ("gemm", r".*(gemm|matmul|int[48]pack_mm|addmm|bmm|multi_dot|trilinear|quant.*linear)"),
    ("random", r".*(dropout|rand(n|int|perm|om)?(_like)?$)|(rand|normal|uniform|bernoulli)"),
    ("random", r"(multinomial|exponential|cauchy|geometric|poisson|log_normal)\b"),
    ("copy", r"(to|to_copy|copy|clone|contiguous|cat|concat|stack|[hvd]stack|item|pin_memory)\b"),
    ("copy", r"(local_scalar_dense|fill|zero|repeat\w*|\w*pad\w*|roll|flip|rot90|copy_from\w*)\b"),
    ("copy", r"(float|half|bfloat16|double|int|long|bool|cpu|<backends>|type_as|tril|triu)\b"),
    ("allocation", r"(new_)?(empty|zeros|ones|full)\w*|resize\w*|arange|linspace|range|eye|set\b"),
    ("view", r"(unsafe_)?view\w*|(reshape|transpose|t|permute|expand|as_strided|select)(_\w+)?\b"),
    ("view", r"(slice|narrow|(un)?squeeze|detach|(tensor_)?split\w*|chunk|unbind|alias)(_\w+)?\b"),
    ("view", r"((un)?flatten|movedim|swapaxes|numpy_T|m[TH]|matrix_H|adjoint|broadcast_to)\b"),
    ("view", r"(swapdims|moveaxis|lift_fresh|result_type)\b"),
    ("view", r"(diagonal|unfold|real|imag|resolve_(conj|neg)|conj|size|stride|is_\w+|has_\w+)\b"),
    ("reduction", r"(nan)?(sum|mean|median)|(var|std)(_mean)?\b|a(min|max)\b|arg(min|max)"),
    ("reduction", r"(max|min|prod|any|all|norm|linalg_(vector_)?norm|count_nonzero|equal)\b"),
    ("reduction", r"(aminmax|cum(sum|prod|max|min)|logcumsumexp|trace|histc|cdist|dist)\b"),
    ("elementwise", r"r?(add|sub|mul|div|pow|fmod|remainder)(c(mul|div))?\b"),
    ("elementwise", r"(addc(mul|div)|true_divide|floor_divide|lerp|maximum|minimum|fm(ax|in))\b"),
    ("elementwise", r"(r?sqrt|exp2?|expm1|log(2|10|1p)?|neg|abs|sign|reciprocal|square|erfc?)\b"),
    ("elementwise", r"(a?(sin|cos|tan)h?|atan2|floor|ceil|round|trunc|frac|clamp\w*|clip)\b"),
    ("elementwise", r"\w*(relu6?|[gsmc]elu|silu|sigmoid|swish|mish|softplus|softsign|glu)\b"),
    ("elementwise", r"(elu|tanh|threshold|hardtanh|\w*shrink|where|masked_fill|heaviside)\b"),
    ("elementwise", r"(eq|ne|lt|le|gt|ge|greater|less|not_equal)(_equal)?\b|is(nan|inf|finite)\b"),
    ("elementwise", r"(logical|bitwise)_\w+|(and|or|xor|lshift|rshift|nan_to_num|polar|complex)\b"),
    ("elementwise", r"\w*(rotary|rope|swiglu|geglu|bias_add|digamma|lgamma|xlogy|logit)\w*\b"),
)
"""Matched at the start of the reduced name, in this order; the first match counts. ``<backends>``
are torch's names of devices, and the methods that copy to them."""


_ENGINE = re.compile(r"^(autograd::engine::evaluate_function: |torch::autograd::)+")
_NODE = re.compile(r"^(\w+?)(Backward|ForAutograd)\d*$")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PREFIXES = ("mkldnn", "mps", "native", "thnn", "slow", "fused", "legacy")
"""Prefixes of torch's own variants; vendors add theirs."""
_VARIANTS = re.compile(r"(_double)?(_backward|_jvp|_forward)\w*$|_$")


class _Patterns(Struct, frozen=True, eq=False):
    """The compiled patterns for traces of one vendor; the same object for equal words."""

    whole: re.Pattern[str]
    reduced: re.Pattern[str]
    prefix: re.Pattern[str]
    beginnings: re.Pattern[str]
    """Matches wherever a pattern that begins with the name does."""
    parts: re.Pattern[str]
    """Is found wherever a pattern that begins anywhere matches."""


def kind_of(name: str, vendor: Vendor) -> Kind:
    """Return the kind of work of an operator in a vendor's trace."""
    return _kind_of(name, _generic() if vendor is GENERIC else _patterns_of(vendor))


def kinds_of(names: Iterable[str], vendor: Vendor) -> Iterator[Kind]:
    """Yield the kind of each name: to look up a vendor's words takes longer than most names."""
    patterns = _patterns_of(vendor)
    return (_kind_of(name, patterns) for name in names)


def _patterns_of(vendor: Vendor) -> _Patterns:
    return _patterns(vendor.communication_prefixes, vendor.operator_prefixes, vendor.backends)


@cache
def _generic() -> _Patterns:
    return _patterns_of(GENERIC)


@lru_cache(maxsize=1 << 17)
def _kind_of(name: str, patterns: _Patterns) -> Kind:
    if name.startswith(step_names.PREFIX) and name.removeprefix(step_names.PREFIX).isdecimal():
        return "other"  # a recording can have a million of them
    if found := patterns.whole.match(name):
        return WHOLE_NAMES[int(str(found.lastgroup)[1:])][0]
    bare = _ENGINE.sub("", name) if name.startswith(("autograd::", "torch::")) else name
    if ("Backward" in bare or "ForAutograd" in bare) and (node := _NODE.match(bare)):
        bare = _WORD.sub("_", node[1]).lower()
    elif bare != name:
        return "autograd"
    reduced = _reduced(bare, patterns.prefix)
    if not patterns.beginnings.match(reduced) and not patterns.parts.search(reduced):
        return "other"
    found = patterns.reduced.match(reduced)
    return PATTERNS[int(str(found.lastgroup)[1:])][0] if found else "other"


@lru_cache(maxsize=64)
def _patterns(
    communication: tuple[str, ...], operators: tuple[str, ...], backends: tuple[str, ...]
) -> _Patterns:
    """Compile the patterns with a vendor's words and all of ours: a trace mixes libraries."""
    libraries = words("communication_prefixes", communication)
    devices = words("backends", backends)
    prefixes = words("operator_prefixes", operators, _PREFIXES)
    return _Patterns(
        whole=_first_of(WHOLE_NAMES, "<libraries>", libraries),
        reduced=_first_of(PATTERNS, "<backends>", devices),
        prefix=re.compile(f"^({prefixes})_"),
        beginnings=_any_of(False, devices),
        parts=_any_of(True, devices),
    )


def _first_of(patterns: tuple[tuple[Kind, str], ...], mark: str, instead: str) -> re.Pattern[str]:
    """Compile one expression for all patterns; ``lastgroup`` has the index of the first match."""
    texts = (pattern.replace(mark, instead) for _, pattern in patterns)
    return re.compile("|".join(f"(?P<_{i}>{text})" for i, text in enumerate(texts)))


_ANYWHERE = ".*"
_GROUP = re.compile(r"(?<!\\)\((?!\?)")


def _any_of(anywhere: bool, devices: str) -> re.Pattern[str]:
    """Compile one expression for the patterns that begin anywhere, or for the others.

    It has no groups and no ``.*``, so that a name that none matches is known ten times sooner.
    """
    texts = [text for _, text in PATTERNS if text.startswith(_ANYWHERE) == anywhere]
    whole = "|".join(text.removeprefix(_ANYWHERE) for text in texts)
    return re.compile(_GROUP.sub("(?:", whole.replace("<backends>", devices)))


def _reduced(name: str, prefix: re.Pattern[str]) -> str:
    """Return the reduced name: ``batch_norm`` for ``aten::native_batch_norm_backward``."""
    word = name.rpartition("::")[2].partition(".")[0].strip("_")
    if "_" not in word:
        return word
    if not word.startswith("fused_"):
        word = prefix.sub("", word)
    return _VARIANTS.sub("", word).strip("_")
