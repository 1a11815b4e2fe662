"""Work beside the training that each step does, though neither pass nor optimizer needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES, ONE_PLACE
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import ProgramFunction, call_title
from tb_privateuse1.analysis.purpose.pieces import training_steps
from tb_privateuse1.analysis.purpose.side_work import SideKind, SideWork, side_work
from tb_privateuse1.analysis.recording.iterations import has_steps
from tb_privateuse1.i18n import Text, fill, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import mask_of
from tb_privateuse1.trace.table import I64


class _Words(Struct, frozen=True):
    """The words about a kind of work."""

    title: Text
    fix: str
    code: Code | None = None


_WORDS: Mapping[SideKind, _Words] = {
    "pass": _Words(
        say("The model runs without gradients beside the training: {share} of the time"),
        say(
            "Validate after each n-th step, under torch.inference_mode() and with larger batches; "
            "or in another process, on a copy of the weights."
        ),
        Code(
            before="loss.backward()\noptimizer.step()\nvalidate(model)",
            after="loss.backward()\noptimizer.step()\nif step % 100 == 0:\n    validate(model)",
        ),
    ),
    "averages": _Words(
        say("Parameters are averaged one after the other: {share} of the time"),
        say(
            "Average all tensors with one call: torch._foreach_lerp_, or "
            "torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn; make the lists once. "
            "Or average after each n-th step, with a weight for n steps."
        ),
        Code(
            before=(
                "for average, parameter in zip(averages, parameters):\n"
                "    average.mul_(0.99).add_(parameter, alpha=0.01)"
            ),
            after="torch._foreach_lerp_(averages, parameters, 0.01)",
        ),
    ),
    "copies": _Words(
        say("Parameters are copied beside the training: {share} of the time"),
        say(
            "Copy after each n-th step, into tensors that exist: "
            "torch._foreach_copy_(copies, parameters)."
        ),
    ),
    "writes": _Words(
        say("The program stops while it writes its state: {share} of the time"),
        say(
            "Write more rarely; or copy the state and write it from a thread "
            "(torch.distributed.checkpoint.async_save)."
        ),
        Code(
            before="torch.save(model.state_dict(), path)",
            after=(
                'state = {"model": model.state_dict()}\n'
                "writing = torch.distributed.checkpoint.async_save(state, checkpoint_id=path)"
            ),
        ),
    ),
    "reads": _Words(
        say("Numbers are read one by one beside the training: {share} of the time"),
        say(
            "Compute on whole tensors and read the result once, after each n-th step: "
            "torch.bincount, (scores.argmax(1) == targets).sum()."
        ),
        Code(
            before="correct = sum(int(a) == int(b) for a, b in zip(predicted, targets))",
            after="correct = int((predicted == targets).sum())",
        ),
    ),
    "statistics": _Words(
        say("Statistics are computed beside the training: {share} of the time"),
        say(
            "Compute them after each n-th step, of all tensors at once (torch._foreach_norm, "
            "torch.nn.utils.get_total_norm), and read the results together."
        ),
    ),
    "host": _Words(
        say("Python code runs beside the training: {share} of the time"),
        say("Run it after each n-th step, or in a thread or process of its own."),
    ),
}
"""By kind; ``{share}`` is the saving's."""

_OF_OTHERS: Mapping[SideKind, tuple[str, ...]] = {
    "averages": ("device", "links", "shapes"),
    "writes": ("device", "stacks"),
    "host": ("device",),
}
"""Kinds that another rule finds if the recording has all of this: ``tensor_loop``,
``checkpoint_writes`` and ``python_overhead``."""
_READ = r"^aten::(item|_local_scalar_dense)$"


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield each piece of work beside the training, by function."""
    for work in side_work(case.trace):
        others = _OF_OTHERS.get(work.kind)
        if others is not None and case.has.issuperset(others):
            continue
        finding = _finding(case, work)
        if finding is not None:
            yield finding


def _unseen(case: RuleContext, work: SideWork) -> I64:
    """Return the waits for a device that is not recorded: a host has its own numbers at once.

    Of reads one by one, their own time is the work.
    """
    if "device" in case.has or work.kind == "reads":
        return np.empty(0, np.int64)
    return np.flatnonzero(case.named("ops", _READ))


def _finding(case: RuleContext, work: SideWork) -> RuleFinding | None:
    """Return the finding on one piece of work; None if it takes next to nothing."""
    ops = work.ops[case.judged[work.ops]]
    unseen = case.time(_unseen(case, work))
    whole = intervals.subtract(intervals.intersect(work.time, case.window), unseen)
    spent = device_bound.shorten(whole, work.share)
    kernels = case.launched_by(mask_of(ops, len(case.trace.ops)))
    waits = case.waits_in(mask_of(ops, len(case.trace.ops)))
    host = case.of_host(spent)
    claim = intervals.merge(
        intervals.EMPTY if host is None else host, case.of_device(case.time(kernels, "kernels"))
    )
    claim = intervals.merge(claim, case.idle_by_waits(waits))
    least = MANY_PLACES if work.kind == "host" else ONE_PLACE
    if case.share(intervals.length(claim)) < least:
        return None
    trace, words = case.trace, _WORDS[work.kind]
    unsure = work.kind == "copies" and "shapes" not in case.has
    steps, every = work.steps, len(training_steps(trace)[0])
    if has_steps(trace):
        steps, every = np.intersect1d(steps, case.steps), len(case.steps)
    name = call_title(trace, trace.text(work.name)) if work.name >= 0 else say("This work")
    each_ms = intervals.length(whole) / max(len(steps), 1) / 1e6
    return RuleFinding(
        title=fill(words.title, share=percent(case.share(intervals.length(claim)))),
        explanation=say(
            "{name} is done in {steps} of {all} steps and takes {each:,.2f} ms of the host each "
            "time, with {operators:,.0f} operators. No gradient is computed from its results, and "
            "the optimizer does not read them.",
            name=name,
            steps=len(steps),
            all=every,
            each=each_ms,
            operators=len(ops) / max(len(steps), 1),
        ),
        events=len(ops) or len(steps),
        evidence=case.examples("ops", ops),
        how=say(
            "The host's time of this work while the device had nothing to do, the device's time "
            "of what it launches while others waited for it, and the idle time in its waits. "
            "Done in each n-th step, all but an n-th of it goes."
        ),
        claim=claim,
        removes=case.without(instants=spent, kernels=kernels, waits=waits),
        # Without shapes other tensors may be copied, as many as parameters.
        may_vanish=unsure,
        least=0.0 if unsure else 1.0,
        confidence="medium" if "stacks" in case.has and not unsure else "low",
        source=_source(case, work, ops),
        lacks=case.lacks("stacks"),
        fix=words.fix,
        code=words.code,
    )


def _source(case: RuleContext, work: SideWork, ops: I64) -> ProgramFunction | None:
    """Return the user's function that does the work."""
    frames = case.trace.frames
    rows = np.flatnonzero((frames.name == work.name) & (work.name >= 0))
    return user_functions.of_frame(case.trace, int(rows[0])) if len(rows) else case.source(ops)


RULE = Rule(
    name="side_work",
    title=say("Work beside the training"),
    cause="launching",
    looks_for=say(
        "What steps do behind their last backward pass and is no part of the optimizer, the data "
        "loader or communication: passes of the model without gradients, averages and copies of "
        "its parameters, checkpoints, metrics, statistics and Python code. What writes parameters "
        "or gradients in place does not count."
    ),
    why=say("Training goes on only when it is done, though it needs none of its results."),
    fix=say("Do it after each n-th step, or in a thread or process of its own."),
    threshold=say(
        "{least} of the step, {more} if it has no operators.",
        least=exact_percent(ONE_PLACE),
        more=exact_percent(MANY_PLACES),
    ),
    reference=say("PyTorch performance tuning guide; torch.optim.swa_utils."),
    code=_WORDS["pass"].code,
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
