"""The registry of work models: the function that counts FLOPs and bytes, by operator name.

A model of the full name (``_C::rms_norm``) comes before one of the reduced name. Namespaces of
devices (``npu::``) keep the arguments of torch's operator; each model checks the shapes that it
gets, so that another operator of the same name is unknown rather than wrong.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from types import ModuleType

from tb_privateuse1.analysis.work.arguments import ITEM_BYTES, Arguments, UnknownWork
from tb_privateuse1.analysis.work.call_work import Model, Related, Work
from tb_privateuse1.analysis.work.models import (
    attention,
    compiled,
    convolutions,
    copies,
    elementwise,
    embedding_tables,
    fbgemm,
    indexing,
    losses,
    norms,
    optimizers,
    pooling,
    products,
    recurrent,
    reductions,
    serving,
    softmax,
    transforms,
)
from tb_privateuse1.trace.table import HALF_INT64
from tb_privateuse1.vendors import words

FAMILIES: tuple[ModuleType, ...] = (
    products,
    convolutions,
    attention,
    recurrent,
    norms,
    softmax,
    elementwise,
    reductions,
    pooling,
    transforms,
    indexing,
    copies,
    optimizers,
    losses,
    serving,
    embedding_tables,
    fbgemm,
)
"""Modules with ``MODELS``; a name is in one of them only."""

MODELS: Mapping[str, Model] = {
    name: model for family in FAMILIES for name, model in family.MODELS.items()
}

_log = logging.getLogger(__name__)
_NODE = re.compile(r"torch::autograd::CppNode<(?:[^<>]*::)?(\w+)")


_POOLED, _LOOKUP = embedding_tables.WORDS


@lru_cache(maxsize=4096)
def reduced_name(name: str) -> str:
    """Return the name without namespace, overload, library and the marks of in-place and out.

    The node of a gradient in C++ has the name of its class. Names that are made of an optimizer, a
    device and so on have one for all.
    """
    made = _NODE.match(name) if name.startswith("torch::") else None
    word = made[1] if made else name.rpartition("::")[2].partition(".")[0]
    if _POOLED in word or _LOOKUP in word:
        for form, key in embedding_tables.FORMS:
            if form.match(word):
                return key
    if word.startswith("__"):
        # ``__iand__`` is ``__and__`` in place.
        return f"__{word[3:]}" if word.startswith("__i") else word
    word = word.removesuffix("_out").rstrip("_")
    return _library().sub(r"\1", word) if "_" in word else word


@cache
def _library() -> re.Pattern[str]:
    """Compile a pattern of the libraries in names: ``x_`` of ``x_batch_norm``, ``a_x_b``."""
    return re.compile(f"(^|_)(?:{words('operator_prefixes', (), ('mkldnn',))})_")


_own: dict[str, Model] = {}


def use_models(models: Mapping[str, Model]) -> None:
    """Use these models of a user, by full name, before ours; the last call counts.

    Results of traces that were computed before stay as they are: call it when a program starts.
    """
    _own.clear()
    _own.update({name: _guarded(name, model) for name, model in models.items()})


def _guarded(name: str, model: Model) -> Model:
    """Return a user's model that raises nothing but UnknownWork; the log has the first reason."""
    failed = False

    def work(call: Arguments) -> Work:
        nonlocal failed
        try:
            found = model(call)
            if not isinstance(found, Work) or found.dtype not in ITEM_BYTES:
                raise TypeError("it returns no Work with one of our types")
        except UnknownWork:
            raise
        except Exception as error:  # a user's model may raise anything: its calls are unknown
            if not failed:
                _log.error("The work model of %s: %s: %s", name, type(error).__name__, error)
                failed = True
            raise UnknownWork from error
        return found

    return work


def model_of(name: str) -> Model | None:
    """Return the model of an operator, or None if it has none."""
    if own := _own.get(name):
        return own
    if name.startswith(compiled.PREFIX):
        return compiled.triton_kernel
    return MODELS.get(name) or MODELS.get(reduced_name(name))


def work_of(call: Arguments) -> Work | None:
    """Return the work of a call, or None if it is unknown."""
    model = model_of(call.name)
    return None if model is None else checked(lambda: model(call))


def related_work(call: Arguments, related: Arguments, models: Mapping[str, Related]) -> Work | None:
    """Return the work of a call that lacks what a related call has, or None if it is unknown."""
    model = models.get(reduced_name(call.name))
    return None if model is None else checked(lambda: model(call, related))


def checked(work: Callable[[], Work]) -> Work | None:
    """Return a work whose figures fit into a column, or None."""
    try:
        found = work()
    except UnknownWork:
        return None
    except (ValueError, IndexError, OverflowError):  # shapes that this operator never has
        return None
    figures = (found.flops, found.read_bytes, found.written_bytes)
    return found if all(f is None or 0 <= f < HALF_INT64 for f in figures) else None
