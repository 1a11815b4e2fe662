"""A loop over many tensors that runs the same few operators for each of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice import device_time, fusion
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.parameter_loops import (
    LONGEST,
    ROUNDS,
    ParameterLoops,
    parameter_loops,
)
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.i18n import join_list, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield equal rounds of operators on tensors of various sizes."""
    loops = parameter_loops(case.trace)
    work = fusion.fuse(case, loops.graph, loops.loop, loops.duration_ns, loops.fused_ns)
    if work is None:
        return
    rounds = loops.rounds.take(work.calls)
    begin, end, share = _ranges(case, loops, work.calls)
    looping = intervals.union(*device_bound.shorten((begin, end), share))
    host = case.of_host(looping)
    later = device_time.idle_after(case, (begin, end), float(np.mean(share)))
    claim = intervals.merge(work.claim, later)
    claim = claim if host is None else intervals.merge(claim, host)
    if case.share(intervals.length(claim)) < ONE_PLACE:
        return
    steps = max(len(case.steps), 1)
    typical = int(np.argsort(rounds.rounds, kind="stable")[len(rounds) // 2])
    first, period = int(rounds.first[typical]), int(rounds.period[typical])
    calls = loops.calls[first : first + period]
    names = [case.trace.text(name) for name in case.trace.ops.name[calls]]
    ops, known = work.ops(), "shapes" in case.has
    yield RuleFinding(
        title=say(
            "A loop over tensors, one at a time: {each:,.0f} operators {per_step}",
            each=len(ops) / steps,
            per_step=case.per_step,
        ),
        explanation=say(
            "A typical loop runs {names} for each of {rounds:,} tensors of various sizes. It takes "
            "{now:,.0f} µs of device time. One kernel for all tensors would need about "
            "{fused:,.0f} µs.",
            names=join_list(names),
            rounds=int(rounds.rounds[typical]),
            now=float(work.duration_ns[work.calls[typical]]) / 1e3,
            fused=float(work.fused_ns[work.calls[typical]]) / 1e3,
        )
        if known
        else say(
            "A typical loop behind a backward pass runs {names} {rounds:,} times, once for each "
            "gradient. Which tensors it works on was not recorded.",
            names=join_list(names),
            rounds=int(rounds.rounds[typical]),
        ),
        events=len(ops),
        evidence=case.examples("ops", calls, [say("of one round")] * len(calls)),
        how=say(
            "The host's time of each loop but for one of its rounds, while the device had nothing "
            "to do, and the idle time behind it that an earlier host would fill; and the device's "
            "time beyond one kernel for all tensors, while others waited for it."
        ),
        claim=claim,
        removes=case.without(instants=looping, kernels=work.kernels, kernel_share=work.shares),
        may_vanish=not known,
        least=1.0 if known else 0.0,
        confidence="high" if known else "low",
        source=case.source(ops),
        lacks=case.lacks("stacks"),
    )


def _ranges(case: RuleContext, loops: ParameterLoops, chosen: I64) -> tuple[I64, I64, np.ndarray]:
    """Return the start and end of loops on the host, in order, and the share that goes of each."""
    rounds, ops = loops.rounds.take(chosen), case.trace.ops
    last = rounds.first + rounds.period * rounds.rounds - 1
    begin = ops.start_ns[loops.calls[rounds.first]]
    end = ops.end_ns[loops.calls[last]]
    order = np.argsort(begin, kind="stable")
    return begin[order], end[order], (1 - 1 / rounds.rounds)[order]


RULE = Rule(
    name="tensor_loop",
    title=say("Loop over tensors"),
    cause="launching",
    looks_for=say(
        "{rounds} or more equal rounds of at most {longest} elementwise operators, copies or "
        "reductions on tensors whose sizes change from round to round, outside of "
        "Optimizer.step; a round may also read a number. Without shapes: as many rounds behind a "
        "backward pass as it has gradients.",
        rounds=ROUNDS,
        longest=LONGEST,
    ),
    why=say(
        "A moving average, a norm or a decay of each parameter launches a kernel per parameter, "
        "most of them too small to fill the device."
    ),
    fix=say(
        "Call the operator for the whole list: torch._foreach_lerp_, torch._foreach_mul_, "
        "torch._foreach_norm, torch.nn.utils.clip_grad_norm_(foreach=True); or keep all "
        "parameters in one flat tensor. Gradients that are not finite make their norm so: "
        "clip_grad_norm_(error_if_nonfinite=True) asks once."
    ),
    threshold=say(
        "{rounds} rounds and {least} of the step. Rounds on tensors of one size may be an "
        "iteration: a quarter of the calls must have other sizes than the round before.",
        least=exact_percent(ONE_PLACE),
        rounds=ROUNDS,
    ),
    reference=say("torch's foreach operators; torch.optim.swa_utils (use_buffers, multi_avg_fn)."),
    code=Code(
        before=(
            "for average, parameter in zip(averages, model.parameters()):\n"
            "    average.mul_(0.99).add_(parameter, alpha=0.01)"
        ),
        after="torch._foreach_lerp_(averages, list(model.parameters()), 0.01)",
    ),
    check=check,
    needs=("work", "operators", "links"),
    partly=("shapes",),
)
