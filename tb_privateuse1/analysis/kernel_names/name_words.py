"""Read kernel names by the words in them: vLLM, hand-written Triton kernels, MTIA, Ascend.

``vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>`` is ``fused add rms norm bf16``. A name whose
words are of no known work keeps its form.
"""

from __future__ import annotations

import re

from tb_privateuse1.analysis.operators.kinds_of_work import Kind, kind_of
from tb_privateuse1.trace.vendor import GENERIC
from tb_privateuse1.vendors.kernel_names import NOISE, Kernel, KernelName, data_types, split_words

_WORDS = {
    "backward": "bwd",
    "forward": "fwd",
    "rmsnorm": "rms norm",
    "layernorm": "layer norm",
    "rmsnorm2d": "rms norm",
    "layernorm2d": "layer norm",
    "divide": "div",
    "multiply": "mul",
    "subtract": "sub",
    "gemm": "GEMM",
    "device": "",
}
_JOINED = (
    ("class nll criterion update grad input", "NLL loss bwd"),
    ("class nll criterion update output", "NLL loss fwd"),
    ("soft max", "softmax"),
    ("mat mul", "matmul"),
    ("gamma beta bwd", "layer norm bwd gamma beta"),
    ("cat array batched copy", "cat"),
    ("bn fw tr", "batch norm fwd train"),
    ("bn fw inf", "batch norm fwd"),
    ("bn bw", "batch norm bwd"),
    ("rowwise moments", "norm moments"),
    ("batch norm collect statistics", "batch norm fwd statistics"),
    ("compute grad input", "layer norm bwd"),
    ("compute part grad gamma beta", "layer norm bwd gamma beta"),
    ("compute grad gamma beta", "layer norm bwd gamma beta"),
    ("split embedding", "embedding"),
    ("layer norm grad input", "layer norm bwd"),
    ("normalization ln", "layer norm"),
    ("batchnorm fwtr", "batch norm fwd train"),
    ("batchnorm bwtr", "batch norm bwd"),
)
"""Words that mean another word, in this order."""
_PATTERNS: tuple[tuple[Kind, str], ...] = (
    ("elementwise", r"rotary|rope|(act|silu|gelu|swiglu) and mul|bitwise"),
    ("indexing", r"embedding"),
    ("optimizer", r"\b(adam|adamw|lamb|adagrad|sgd)\b"),
    ("normalization", r"norm moments|norm\b|batch norm|batchnorm|\bnormalization\b"),
    ("softmax_loss", r"\bbce\b|cross entropy|\bnll\b"),
    ("indexing", r"routing|moe|topk|top k|expert|sort|histogram|bucketize|offsets|kv ?cache|cache"),
    (
        "indexing",
        r"kv indices|page indices|position|permute (2d|indices|pooled)|jagged|sparse|bounds",
    ),
    ("indexing", r"linearize|find long segments|scatter|gather|indices|index|compact init"),
    ("reduction", r"scan|reduce|argmax|bitmatrix rows|segments"),
    ("elementwise", r"quant|fp8|hfp8|qparam"),
    ("copy", r"nchw to nhwc|nhwc to nchw|transpose|permute|trans data|tensor move"),
    ("copy", r"\bcast\b|layout|copy|\bcat\b"),
    ("gemm", r"\bfc\b|gemm|matmul"),
    ("random", r"philox|random|dropout"),
)
"""Searched in the words first; then the name counts as an operator's."""
_TITLES: dict[Kind, str] = {"elementwise": "elementwise", "reduction": "reduce", "gemm": "GEMM"}
"""Words in front of an operator of a family, as torch's own kernels have them."""
_AS_COPY: tuple[Kind, ...] = ("view", "allocation")
_UNKNOWN: tuple[Kind, ...] = ("other", "autograd")
_TYPED = re.compile(r"(?P<name>.*?)-dtype_(?P<type>\w+?)(-extraKey_\d+)?$")
_ACLNN = re.compile(r"aclnn\w*?_\w*_(?P<name>\w+)$")
_OPERATOR = re.compile(r"\w+::\w+(\.\w+)?$")
_OGS = re.compile(r"_?matmul_ogs_\w+?_(?P<types>[a-z0-9]+)_(?P<tile>\d+x\d+x\d+)x\d+(?P<rest>\w*)")


def read_words(kernel: Kernel) -> KernelName | None:
    """Return the words of a name if they are those of known work."""
    if _OPERATOR.match(kernel.full):  # an operator's name on an inferred timeline
        family = _known(kind_of(kernel.full, GENERIC))
        return KernelName(kernel.full, family) if family else None
    if found := _OGS.match(kernel.name):
        return _matmul_ogs(found)
    if found := _TYPED.match(kernel.full):
        return _of_operator(found["name"], data_types.of_word(found["type"].lower()))
    if found := _ACLNN.match(kernel.full):
        return _of_operator(found["name"], kernel.data_type)
    path = kernel.part.namespaces if kernel.part else ()
    words = ("log", *kernel.words) if _is_log_softmax(kernel) else kernel.words
    return _of_words(words, kernel.data_type, path)


def _is_log_softmax(kernel: Kernel) -> bool:
    """Return whether a template of torch's softmax is that of its logarithm."""
    args = [one.name for one in kernel.part.args or ()] if kernel.part else []
    if kernel.name.startswith("softmax_warp_"):
        return args[4:5] == ["true"]
    return "SoftMax" in kernel.name and any(one.startswith("LogSoftMax") for one in args)


def _matmul_ogs(found: re.Match[str]) -> KernelName:
    first, *others = (
        data_types.of_word(one) for one in re.split(r"(?<=\d)x(?=[a-z])", found["types"])
    )
    kinds = "·".join(filter(None, (first, others[-1] if others else None)))
    rest = found["rest"].strip("_").replace("_", " ")
    words = ("grouped GEMM", kinds, found["tile"].replace("x", "×"), rest)
    return KernelName(" ".join(filter(None, words)), "gemm")


def _of_operator(name: str, kind: str | None) -> KernelName:
    """Return an operator of a vendor's own compiler: the name without namespace and overload."""
    bare = name.rpartition("::")[2].partition(".")[0]
    found = _of_words(split_words(bare), kind)
    return found or KernelName(" ".join(filter(None, (bare, kind))), None)


def _of_words(
    words: tuple[str, ...], kind: str | None, path: tuple[str, ...] = ()
) -> KernelName | None:
    """Return the words if they mean some work; a library's prefix gives way, its path helps."""
    kinds = {kind} - {None}
    said = [word for word in words if word not in NOISE and data_types.of_word(word) not in kinds]
    for prefix, rest in (((), said), ((), said[1:]), (path[:1], said), (path[-1:], said)):
        text = _meaning([*prefix, *rest])
        pattern = _by_pattern(text)
        family = pattern or _by_operator(text.split()) or _by_operator(rest)
        if family is None or not rest:
            continue
        if pattern is None and (title := _TITLES.get(family)) and title not in text:
            text = f"{title} {text}"
        if family == "indexing" and kind in ("i32", "i64"):
            kind = None  # that of the index
        return KernelName(" ".join(filter(None, (text, kind))), family)
    return None


def _meaning(words: list[str]) -> str:
    spelled = dict.fromkeys(_WORDS.get(word, word) for word in words)
    text = f" {' '.join(filter(None, spelled))} "
    for joined, meant in _JOINED:
        text = text.replace(f" {joined} ", f" {meant} ")
    return text.strip()


def _by_pattern(text: str) -> Kind | None:
    found = (kind for kind, words in _PATTERNS if re.search(words, text, re.IGNORECASE))
    return next(found, None)


def _by_operator(words: list[str]) -> Kind | None:
    return _known(kind_of("_".join(words), GENERIC))


def _known(kind: Kind) -> Kind | None:
    return "copy" if kind in _AS_COPY else None if kind in _UNKNOWN else kind
