"""Parse names of torch's own kernels: element-wise loops, reductions and foreach lists.

``at::native::vectorized_elementwise_kernel<4, BinaryFunctor<…, MulFunctor<float>>, …>`` multiplies.
The operation is the innermost functor, or the function whose lambda it is
(``aten/src/ATen/native/cuda``).
"""

from __future__ import annotations

import re

from tb_privateuse1.trace.work_kinds import Kind
from tb_privateuse1.vendors.kernel_names import data_types
from tb_privateuse1.vendors.kernel_names.cpp_name import NamePart
from tb_privateuse1.vendors.kernel_names.kernel import Kernel, KernelName, split_words

_LOOPS: tuple[tuple[re.Pattern[str], str, Kind], ...] = (
    (re.compile(r"distribution_elementwise|distribution_nullary"), "random", "random"),
    (re.compile(r"index_elementwise_kernel|gpu_index_kernel"), "index", "indexing"),
    (re.compile(r"_scatter_gather_elementwise_kernel"), "scatter", "indexing"),
    (
        re.compile(r"(\w+_)?elementwise_kernel(_\w+)?$|\w*elementwise_kernel_helper"),
        "elementwise",
        "elementwise",
    ),
    (re.compile(r"reduce_kernel$|segment_reduce\w*"), "reduce", "reduction"),
    (re.compile(r"multi_tensor_apply_kernel(_large)?$"), "foreach", "elementwise"),
)
_SILENT = """
    cuda functor kernel impl cudafunctor op ops launch gpu hip on self other nocast t direct
    func wrapper maker internal native at out cu math unary binary pointwise list alpha
"""
_NOISE = frozenset(_SILENT.split())
_WORDS = {
    "backward": "bwd",
    "forward": "fwd",
    "multiplies": "mul",
    "plus": "add",
    "minus": "sub",
    "divides": "div",
}
_OPTIMIZERS = ("adam", "adamw", "adagrad", "lamb", "sgd")
_CONTAINERS = ("Array", "array", "OpaqueType", "complex", "TensorInfo", "tuple", "pair")
_HELPERS = ("TensorList", "Array", "array", "OffsetCalc", "TrivialOffset", "Load", "Store")
_TYPED = re.compile(
    r"(?:(?P<source>bfloat16|float16|float32|float8\w*)to)?(?P<to>bfloat16|float16|float32|float8\w*)_copy"
)


def read_aten(kernel: Kernel) -> KernelName | None:
    """Return ``elementwise mul bf16``, ``reduce sum f32``, ``foreach add f32`` and the like."""
    part = kernel.part
    if part is None or not part.args:
        return None
    for pattern, title, family in _LOOPS:
        if pattern.match(part.name):
            words = _of_list(part) if title == "foreach" else _of_loop(part, title)
            if not words:
                return None
            titled = words if words[0] in ("fused", title, "gather") else (title, *words)
            found = (*dict.fromkeys(filter(None, titled)), _type(part))
            fused = words[0] == "fused" or words[0] in _OPTIMIZERS
            return KernelName(" ".join(filter(None, found)), "optimizer" if fused else family)
    return None


def _of_loop(part: NamePart, title: str) -> list[str]:
    """Return the words of the innermost operation of a loop."""
    functor = next(iter(part.classes), None)
    if functor is None:
        return []
    while inner := [one for one in functor.classes if one.name not in _CONTAINERS]:
        functor = inner[-1]
    if title == "scatter":
        return _scattered(functor)
    if found := _TYPED.match(functor.name):
        source = data_types.of_word(found["source"] or "")
        source = source or data_types.of_parameters(functor.parameters)
        return ["copy", f"{source}→{data_types.of_word(found['to'])}"]
    words = _words(functor)
    if functor.name.startswith("Compare"):
        words = words[1:] or words
    return [word for word in words if word != title] or [title]


def _scattered(functor: NamePart) -> list[str]:
    """Return what a loop over indices does: it gathers, scatters or adds up."""
    first, last = (functor.args or (functor,))[0], (functor.args or (functor,))[-1]
    if last.name.startswith("Reduce"):
        return ["scatter", *split_words(last.name)[1:]]
    return ["gather"] if first.name == "false" else ["scatter"]


def _of_list(part: NamePart) -> list[str]:
    """Return the operation on each tensor of a list; generic functors have it as an argument."""
    operations = [one for one in part.args or () if one.args and "TensorList" not in one.name]
    named = [words for one in operations if (words := _words(one))]
    if not named:
        return ["list"]
    return named[0] if "fused" in named[0] or len(named) == 1 else named[1]


def _words(functor: NamePart) -> list[str]:
    name = functor.name.replace("ArgM", "Argm").replace("copy_device_to_device", "copy")
    words = [_WORDS.get(word, word) for word in split_words(name) if word not in _NOISE]
    return [word for word in words if word not in ("scalar", "tensor")] or words


def _type(part: NamePart) -> str | None:
    """Return the type of the operands: the adapter's first, the operation's, or its lambda's."""
    for one in part.inside():
        if one.name == "OpaqueType":
            return data_types.of_part(one)
        if _TYPED.match(one.name):
            return None
        if one is not part and (kind := _first_type(one)):
            return kind
    return None


def _first_type(part: NamePart) -> str | None:
    if part.name.startswith(_HELPERS):
        return None
    kinds = (data_types.of_name(arg.name) for arg in part.args or () if not arg.pointer)
    found = next((kind for kind in kinds if kind), None)
    if found or part.classes:
        return found
    return data_types.of_parameters(part.parameters)
