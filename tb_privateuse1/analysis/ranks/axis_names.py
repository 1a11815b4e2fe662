"""The axes of parallelism that frameworks name in the description of a process group.

Words are compared whole, in lower case. A description decides only by these words: one without any
is no evidence. Sources:

* torch DeviceMesh: ``mesh_<dimension>`` (torch/distributed/device_mesh.py); the dimensions' names
  are the program's, torchtitan's are ``pp``, ``dp_replicate``, ``dp_shard``, ``cp``, ``tp``, ``ep``
  (torchtitan/distributed/parallel_dims.py). FSDP2 makes ``fsdp_reduce_scatter``.
* Megatron-LM: ``TENSOR_MODEL_PARALLEL_GROUP``, ``DATA_PARALLEL_GROUP_WITH_CP``,
  ``EXPERT_MODEL_PARALLEL_GROUP``, … (megatron/core/parallel_state.py, ``create_group``).
* MindSpeed on Ascend: ``tp``, ``dp_cp``, ``exp``, … in ``parallel_group_info``.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

AxisKind = Literal["data", "tensor", "pipeline", "expert", "context"]

_KINDS: dict[str, AxisKind] = {
    **dict.fromkeys(("dp", "ddp", "data", "fsdp", "hsdp", "zero", "replicate", "shard"), "data"),
    **dict.fromkeys(("tp", "tensor"), "tensor"),
    **dict.fromkeys(("pp", "pipe", "pipeline"), "pipeline"),
    **dict.fromkeys(("ep", "exp", "expert", "experts", "moe"), "expert"),
    **dict.fromkeys(("cp", "context", "ulysses", "sequence"), "context"),
}

_OF_EXPERTS = re.compile(r"^expert_(?!model|parallel|group|tensor_(?:and|model))(?=[a-z])")
"""Megatron's ``EXPERT_`` before another axis: that axis, of the expert layers alone."""
_WORD = re.compile(r"[a-z]+")
_MOST_KNOWN = 1024
"""Descriptions that are remembered: ten thousand ranks have the same few."""
_NUMBER = re.compile(r"[:_#.-]?\d+$")


@functools.lru_cache(_MOST_KNOWN)
def axis_kinds(description: str) -> tuple[AxisKind, ...]:
    """Return the axes that a description names, in its order; none if it names no axis."""
    text = _OF_EXPERTS.sub("", description.lower())
    found = (_KINDS.get(word) for word in _WORD.findall(text))
    return tuple(dict.fromkeys(kind for kind in found if kind))


def same_axis(description: str) -> str:
    """Return the description without the number that a framework gives to each of an axis."""
    return _NUMBER.sub("", description)
