"""Convolutions far below the best rate of their kind in the same recording."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.distance import (
    LEAST,
    TILE,
    CallContext,
    Words,
    check_family,
    plain_shapes,
)
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.base import Code, Rule, RuleFinding, exact_percent, percent
from tb_privateuse1.analysis.idioms.far_calls import FAR_APART, converting
from tb_privateuse1.analysis.work.kernel_work import kernel_work
from tb_privateuse1.analysis.work.models.convolutions import sizes_of_gradient
from tb_privateuse1.i18n import say

_FEW = 16
"""Channels below which the sum for an element of the result is too short for a matrix unit."""
_MUCH = 0.2


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield convolutions of a shape whose siblings of the same kind and type are much faster."""
    yield from check_family(case, ("convolutions",), _WORDS, _reason)


def _reason(context: CallContext) -> str:
    vendor, call = context.case.vendor, context.call
    sizes = sizes_of_gradient(call)
    x, weight = (sizes[0], sizes[2]) if sizes else plain_shapes(call)
    out, grouped = weight[0], weight[1] < x[1]
    if turned := _turned(context):
        return say(
            "Kernels that only change the order of channels take {more} of its time on top: keep "
            "model and input in torch.channels_last.",
            more=percent(turned),
        )
    if grouped:
        return say(
            "Its {groups:,} groups read as much as they compute, so its rate is that of memory: "
            "the order of channels decides it, and the batch.",
            groups=x[1] // weight[1],
        )
    multiple = vendor.product_multiple
    if x[1] < _FEW:
        return say(
            "It has {channels} channels of input, too few for a matrix unit: pad them, or fold "
            "neighboring pixels into channels (pixel_unshuffle).",
            channels=x[1],
        )
    if multiple and (x[1] % multiple or out % multiple):
        return say(
            "Its channels ({channels} to {out}) are no multiples of {multiple}, which the matrix "
            "units need: pad them.",
            channels=x[1],
            out=out,
            multiple=multiple,
        )
    stride = max(context.kind.stride, 1)
    tiles = -(-x[0] * int(np.prod(x[2:])) // stride // TILE) * -(-out // TILE)
    if context.units is not None and tiles < context.units:
        return say(
            "Its result has {tiles} tiles for {units} units of the device: use larger batches.",
            tiles=tiles,
            units=context.units,
        )
    if context.channels_first and (vendor.channels_last or context.found.on_host):
        return say(
            "Its input has the channels first, and the libraries here compute with the channels "
            "last: try torch.channels_last for model and input."
        )
    return ""


def _turned(context: CallContext) -> float:
    """Return the time of kernels that change its layout as a share of its own; 0 if little."""
    if context.found.on_host:
        return 0.0
    kernels = context.case.trace.kernels
    alike = context.found.calls.alike == context.found.calls.alike[context.row]
    of_calls = np.isin(kernel_work(context.case.trace).op, context.found.calls.op[alike])
    spent = (kernels.end_ns - kernels.start_ns)[of_calls & converting(context.case.trace)].sum()
    share = float(spent) / max(float(context.found.calls.duration_ns[alike].sum()), 1.0)
    return share if share >= _MUCH else 0.0


_WORDS = Words(
    title=lambda shapes: say("Convolutions far below the best rate here: {shapes}", shapes=shapes),
    fix=say(
        "Keep model and input in torch.channels_last; make channels multiples of 8, better 64; "
        "use larger batches; let the library measure its algorithms."
    ),
    tuning="tune_convolutions",
    on_host=say("On the host, oneDNN computes with blocks of channels: torch.channels_last."),
)

RULE = Rule(
    name="convolution_rates",
    title=say("Convolutions below the best rate"),
    cause="device",
    looks_for=say(
        "Convolutions of more than 20 µs below {far_apart} of the best sustained rate of their "
        "kind: direction, window, stride and type. Those by groups are compared by bytes. A faster"
        " one must have no more work, and no more for each byte.",
        far_apart=exact_percent(FAR_APART),
    ),
    why=say("The device, or the host, has shown in this recording that it can do better."),
    fix=_WORDS.fix,
    threshold=say(
        "{least} of the step. Libraries' algorithms suit some shapes better than others.",
        least=exact_percent(LEAST),
    ),
    reference=say("NVIDIA's guide to convolutional layers; roofline model."),
    code=Code(
        before="model(images)",
        after=(
            "model = model.to(memory_format=torch.channels_last)\n"
            "model(images.to(memory_format=torch.channels_last))"
        ),
    ),
    check=check,
    needs=("operators", "shapes"),
)
