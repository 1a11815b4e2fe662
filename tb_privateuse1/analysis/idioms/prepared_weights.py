"""Find work on weights that stay the same: what a layer's weight is made of, each time again.

A weight is what enters a layer at the place of a weight, and what that is made of if nobody in the
recording makes it.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from tb_privateuse1.analysis.idioms.accumulations import accumulations
from tb_privateuse1.analysis.idioms.outermost_calls import FLOATING, Call, Key, OutermostCalls
from tb_privateuse1.analysis.idioms.result_tensors import VIEWS, result_of
from tb_privateuse1.analysis.steps.training_phases import STEPPING, phase_kinds
from tb_privateuse1.analysis.work.calls import read_call
from tb_privateuse1.analysis.work.registry import reduced_name
from tb_privateuse1.trace import groupby
from tb_privateuse1.trace.columns import latest_not_after
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_MOST = 50_000
"""Layers that are looked at."""
_WEIGHT_AT = {"linear": 1, "conv1d": 1, "conv2d": 1, "conv3d": 1, "convolution": 1, "embedding": 0,
              "addmm": 2, "layer_norm": 2, "rms_norm": 2}  # fmt: skip
"""Where a layer takes its weight."""
_INPUT_AT = {"linear": 0, "conv1d": 0, "conv2d": 0, "conv3d": 0, "convolution": 0,
             "embedding": 1, "addmm": 1, "layer_norm": 0, "rms_norm": 0, "group_norm": 0,
             "batch_norm": 0}  # fmt: skip
"""Where a layer takes its input; the others of its tensors are parameters."""
_LONGEST = 6
"""Operators from a weight to its layer: those of a normalized or an adapted one."""


def prepared_weights(trace: Trace, operators: OutermostCalls) -> I64:
    """Return the places of work on weights whose result is there already.

    Without backward passes and optimizers, weights stay as they are: all steps but the first one
    repeat it. In training it is needed once in each pass for each parameter, and autograd says
    how many of a size get a gradient.
    """
    layers = np.flatnonzero(operators.named(*_WEIGHT_AT) & ~operators.ends)
    before = np.maximum(layers - 1, 0)
    pairs, pair = groupby.group_rows(operators.call[before], operators.call[layers])
    feeds = np.array(
        [
            _feeds(operators.at(int(before[i])), operators.at(int(layers[i])))
            and _has_shape(trace, *operators.rows[[before[i], layers[i]]].tolist())
            for i in pairs.tolist()
        ]
        or [False],
        np.bool_,
    )
    if not feeds.any():
        return np.empty(0, np.int64)
    made = operators.made()
    fed = layers[feeds[pair]].tolist()[:_MOST]
    chains = [chain for layer in fed if (chain := _chain(operators, made, layer))]
    trains = operators.ends.any() or (phase_kinds(trace) == STEPPING).any()
    again = _beyond_parameters if trains else _behind_first_step
    return np.unique(np.array(again(trace, operators, chains), np.int64))


def weight_read(call: Call) -> Key | None:
    """Return what a call reads at the place of its weight; None of a call without one."""
    at = _WEIGHT_AT.get(call.word)
    return None if at is None or at >= len(call.reads) else call.reads[at]


def states_read(call: Call) -> tuple[Key, ...]:
    """Return what a call reads but for the parameters of a layer."""
    at = _INPUT_AT.get(call.word)
    return call.reads if at is None else call.reads[at : at + 1]


def _behind_first_step(
    trace: Trace, operators: OutermostCalls, chains: list[list[int]]
) -> list[int]:
    """Return the places of chains in all steps but the first one that has it."""
    step = trace.ops.step[operators.rows]
    seen: dict[tuple[int, ...], int] = {}
    gone: list[int] = []
    for chain in chains:
        key = tuple(int(operators.call[i]) for i in chain)
        own = int(step[chain[0]])
        if seen.setdefault(key, own) != own:
            gone += chain
    return gone


def _beyond_parameters(
    trace: Trace, operators: OutermostCalls, chains: list[list[int]]
) -> list[int]:
    """Return the places of chains of a pass beyond one for each parameter of their size."""
    found = accumulations(trace)
    sizes = [math.prod(shape) for shape in found.shapes]
    count = Counter(
        (one, sizes[shape])
        for one, shape in zip(found.backward.tolist(), found.shape.tolist(), strict=True)
        if shape >= 0
    )
    start_ns = trace.ops.start_ns[operators.rows]
    passes = latest_not_after(found.passes.forward_ns, start_ns)
    times: Counter[tuple[int, ...]] = Counter()
    gone: list[int] = []
    for chain in chains:
        one = int(passes[chain[0]])
        if one < 0 or not operators.records[chain].all():
            continue
        key = (one, *(int(operators.call[i]) for i in chain))
        times[key] += 1
        most = max(count[one, size] for size, _ in operators.at(chain[0]).reads)
        if 0 < most < times[key]:
            gone += chain
    return gone


def _feeds(before: Call, layer: Call) -> bool:
    """Return whether an operator makes the weight of the layer behind it, and not its input."""
    weight = weight_read(layer)
    is_own = weight is not None and layer.reads.count(weight) == 1
    return is_own and before.result == weight and before.is_pure and before.word not in VIEWS


def _has_shape(trace: Trace, before: int, layer: int) -> bool:
    """Return whether a layer reads a tensor of the very shape that the row before it makes.

    Rows of a batch may have as many numbers as the weight of the next layer by chance.
    """
    made, taken = read_call(trace, before), read_call(trace, layer)
    if made is None or taken is None:
        return False
    result = result_of(made, reduced_name(made.name).strip("_"))
    return result is not None and result.shape in {one.shape for one in taken.tensors()}


def _chain(operators: OutermostCalls, made: dict[Key, set[int]], layer: int) -> list[int]:
    """Return the places of the operators that make a layer's weight from unchanged tensors."""
    chain: list[int] = []
    wanted = {operators.at(layer).reads[_WEIGHT_AT[operators.at(layer).word]]}
    for place in range(layer - 1, max(layer - 1 - _LONGEST, -1), -1):
        call = operators.at(place)
        if call.result not in wanted or not call.is_pure:
            break
        chain.append(place)
        wanted |= set(call.reads)
    numbers = {int(operators.call[i]) for i in chain}
    inputs = {key for i in chain for key in operators.at(i).reads}
    inputs -= {result for i in chain if (result := operators.at(i).result) is not None}
    own = all(not made.get(key, set()) - numbers for key in inputs)
    return chain[::-1] if inputs and own and all(one in FLOATING for _, one in inputs) else []
