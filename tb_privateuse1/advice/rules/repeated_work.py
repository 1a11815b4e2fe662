"""Work whose result is there already: constants made again, conversions there and back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.repeated_inputs import repeated_inputs
from tb_privateuse1.analysis.idioms.repeated_layers import repeated_layers
from tb_privateuse1.analysis.idioms.repeated_results import repeated_results
from tb_privateuse1.analysis.idioms.unchanged_passes import unchanged_passes
from tb_privateuse1.i18n import Text, fill, join_list, say
from tb_privateuse1.trace import groupby, intervals
from tb_privateuse1.trace.table import I64

_TOP = 5
"""Names in the sentence."""


class _Origin(Struct, frozen=True):
    """The words on work of one origin."""

    title: Text
    explanation: Text
    how: Text
    fix: Text
    code: Code


_CONSTANTS = _Origin(
    title=say("The same constants are computed again: {share} of the time"),
    explanation=say(
        "{count:,} operators ({names}) compute from numbers alone what equal calls before them "
        "have computed: masks, tables of positions, indices."
    ),
    how=say("The time of all calls but the first ones: the result is kept."),
    fix=say(
        "Make the tensor once and keep it: register_buffer in the module's __init__, or a cache by "
        "length and device; pass it to all layers."
    ),
    code=Code(
        before="def forward(self, x):\n    mask = torch.ones(n, n, device=x.device).tril()",
        after=(
            'self.register_buffer("mask", torch.ones(n, n).tril(), persistent=False)\n'
            "def forward(self, x):\n    mask = self.mask"
        ),
    ),
)
_SCALED = replace(
    _CONSTANTS,
    title=say("The same tables are computed again in a step: {share} of the time"),
    explanation=say(
        "{count:,} operators ({names}) compute tables from numbers alone, by calls that equal "
        "others of the step. A whole number of the program scales them. Its value is not recorded: "
        "it may be a model's size, or differ from call to call."
    ),
    how=say(
        "The time of all calls of a step but the first ones; none if the number differs each time."
    ),
)
_FILTERS = replace(
    _CONSTANTS,
    title=say("Filters of a layer are computed again: {share} of the time"),
    explanation=say(
        "{count:,} operators ({names}) compute from numbers alone what a layer takes as its "
        "weight. Several steps make the same calls. A whole number of the program scales the "
        "result. Its value is not recorded: it may differ from step to step."
    ),
    how=say("The time of all steps but the first one; none if the number differs each time."),
)
_BESIDE = replace(
    _CONSTANTS,
    title=say("A constant is joined to a tensor again: {share} of the time"),
    explanation=say(
        "{count:,} operators ({names}) compute from numbers alone and from a tensor that no "
        "recorded operator makes: loops that are added to a graph, for example. Which tensor it "
        "is, the recording does not have: it may be another one each time."
    ),
    how=say("The time of all calls but the first ones; none if the tensor differs each time."),
)
_CONVERSIONS = _Origin(
    title=say("Tensors are converted to another type and directly back: {share} of the time"),
    explanation=say(
        "{count:,} conversions and their gradients ({names}) give the type that was there before. "
        "If the type between is wider, the values are the same, too; else they are only rounded."
    ),
    how=say("The time of both conversions, and of autograd's nodes for them."),
    fix=say(
        "Take the tensor as it is. Convert once where the type is needed, and keep the result. If "
        "the values are meant to be rounded, leave it."
    ),
    code=Code(before="y = layer(x.to(torch.float64).to(torch.float32))", after="y = layer(x)"),
)
_WEIGHTS = _Origin(
    title=say("Unchanged weights are prepared again: {share} of the time"),
    explanation=say(
        "{count:,} operators ({names}) work on weights before their layers use them. Since the "
        "last time nothing has changed these weights, so the results are the same."
    ),
    how=say(
        "The time of these operators but for the first time: in inference that of one step, in "
        "training once in a pass for each parameter."
    ),
    fix=say(
        "Prepare weights once: in inference when the model is loaded (model.bfloat16(), "
        "remove_parametrizations, remove_weight_norm, merged adapters), in training once in a pass "
        "(torch.nn.utils.parametrize.cached())."
    ),
    code=Code(
        before="y = F.linear(x, self.weight.to(x.dtype))",
        after="model = model.to(torch.bfloat16)  # once\ny = F.linear(x, self.weight)",
    ),
)


_CALLS = _Origin(
    title=say("Operators run again on the same tensors: {share} of the time"),
    explanation=say(
        "{count:,} calls ({names}) read the same memory as an equal call before them, and nothing "
        "was written to it in between."
    ),
    how=say("The time of all calls but the first ones: the result is kept."),
    fix=say(
        "Keep the result of the first call as long as its inputs stay as they are: pass it on, or "
        "hold it in the module."
    ),
    code=Code(
        before="for block in blocks:\n    x = block(x, table.to(x.dtype))",
        after="table = table.to(x.dtype)\nfor block in blocks:\n    x = block(x, table)",
    ),
)


_LAYERS = _Origin(
    title=say("Layers of a loop run again on what stays the same: {share} of the time"),
    explanation=say(
        "{count:,} calls ({names}) are of layers that an earlier round has called, on a tensor "
        "made ahead of the loop. Nothing in the loop makes or writes such a tensor: keys and "
        "values of an encoder's result, for example."
    ),
    how=_CONSTANTS.how,
    fix=say(
        "Compute what is the same in all rounds ahead of the loop, and keep it: keys and values "
        "of an encoder's result once for all words, as caches for cross attention do."
    ),
    code=Code(
        before="for _ in range(words):\n    y = attend(y, key(sounds), value(sounds))",
        after=(
            "keys, values = key(sounds), value(sounds)\n"
            "for _ in range(words):\n    y = attend(y, keys, values)"
        ),
    ),
)


_PASSES = _Origin(
    title=say("A module runs again in each round of a loop: {share} of the time"),
    explanation=say(
        "{count:,} calls ({names}) are of modules that an earlier round has called. No operator in "
        "the loop makes or writes a tensor of the size and type of their inputs: a text that each "
        "step of a diffusion encodes again, for example. Which tensors they are is not recorded."
    ),
    how=say(
        "The time of all calls but the first ones; none if each round has an input of its own."
    ),
    fix=say(
        "Call the module ahead of the loop, and pass its result to all rounds: the meaning of a "
        "text, the features of a picture. If each round has an input of its own, stack the inputs "
        "and call it once for all."
    ),
    code=Code(
        before="for time in times:\n    x = x - model(x, time, encode(text))",
        after="meaning = encode(text)\nfor time in times:\n    x = x - model(x, time, meaning)",
    ),
)


_UNSURE = (_FILTERS, _BESIDE, _PASSES)
"""The recording does not have what refutes these."""


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield work by its inputs: constants, conversions and back, weights, tensors, loops."""
    found = repeated_results(case.trace)
    calls = np.setdiff1d(repeated_inputs(case.trace), found.rows())
    layers = np.setdiff1d(repeated_layers(case.trace), np.append(found.rows(), calls))
    others = np.concatenate((found.rows(), calls, layers))
    for rows, words in (
        (found.constants, _CONSTANTS),
        (found.scaled, _SCALED),
        (found.filters, _FILTERS),
        (found.beside, _BESIDE),
        (found.conversions, _CONVERSIONS),
        (found.weights, _WEIGHTS),
        (calls, _CALLS),
        (layers, _LAYERS),
        (np.setdiff1d(unchanged_passes(case.trace), others), _PASSES),
    ):
        if not len(rows):
            continue
        gone = remove(case, Needless(rows, np.ones(len(rows))))
        if case.share(intervals.length(gone.claim)) < ONE_PLACE:
            continue
        yield RuleFinding(
            title=fill(words.title, share=""),
            explanation=fill(
                words.explanation, count=len(gone.rows), names=_names(case, gone.rows)
            ),
            events=len(gone.rows),
            evidence=case.examples("ops", gone.rows),
            how=words.how,
            claim=gone.claim,
            removes=gone.removes,
            may_vanish=words in (_SCALED, *_UNSURE),
            confidence="low" if words in _UNSURE else "medium",
            source=case.source(gone.rows),
            lacks=case.lacks("stacks"),
            fix=words.fix,
            code=words.code,
        )


def _names(case: RuleContext, rows: I64) -> str:
    """Return the operators with most of the time."""
    ops = case.trace.ops
    names, group = np.unique(ops.name[rows], return_inverse=True)
    total = groupby.sums(group, ops.end_ns[rows] - ops.start_ns[rows], len(names))
    order = np.argsort(-total, kind="stable")[:_TOP]
    return join_list(case.trace.text(names[i]) for i in order)


RULE = Rule(
    name="repeated_work",
    title=say("Work whose result is there already"),
    cause="device",
    looks_for=say(
        "Chains of operators from arange, ones and others with the same numbers, before the first "
        "operator that reads anything else, or with a batch's whole numbers within a step; "
        "conversions to another type and directly back; operators between an unchanged tensor and "
        "its place as a layer's weight; layers and modules of a loop, whose inputs nothing in the "
        "loop makes; with an execution trace, equal calls on the same unchanged tensors."
    ),
    why=say("Equal work on equal inputs gives an equal result: the first one can be kept."),
    fix=say("Compute it once, and keep the result."),
    threshold=say(
        "{least} of the step. Numbers of Python that are multiplied are not recorded: a vector "
        "with these does not count, a table of two vectors does. Where a whole number scales "
        "it, it counts if a step makes it three times, or three steps make it as a layer's "
        "weight, with a range from 0.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("torch.nn.Module.register_buffer; common subexpressions of compilers."),
    code=_CONSTANTS.code,
    check=check,
    needs=("operators", "shapes"),
)
