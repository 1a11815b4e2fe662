"""Equal passes of one module in a step, where one pass of a batch would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tb_privateuse1.advice import batched_rounds
from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import MANY_PLACES
from tb_privateuse1.analysis.idioms.batched_cost import TILE, Ranges, gradients_of
from tb_privateuse1.analysis.idioms.independent_passes import (
    IndependentPasses,
    has_few_rows,
    independent_passes,
    without_gradient,
)
from tb_privateuse1.analysis.idioms.outermost_calls import outermost_calls
from tb_privateuse1.analysis.operators import user_functions
from tb_privateuse1.analysis.operators.function_names import call_title
from tb_privateuse1.analysis.steps.training_phases import find_passes
from tb_privateuse1.i18n import plural, say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import call_tree, groupby, intervals
from tb_privateuse1.trace.columns import ends_run, range_rows, starts_run
from tb_privateuse1.trace.model import NONE
from tb_privateuse1.trace.table import I64


class _Together(Struct, frozen=True, eq=False):
    """Ranges of runs and of their gradients, the host's time that goes, and places in a pass."""

    ranges: Ranges
    looping: intervals.Set
    place: I64


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield by module the passes that one batch can replace."""
    # In inference on a device ``weight_reads`` prices such calls by what their weights take.
    if not case.is_host and not len(find_passes(case.trace).backward_ns):
        return
    found = independent_passes(case.trace)
    for _, some in groupby.split_by_value(case.trace.frames.name[found.frame]):
        passes = found.take(some)
        again = passes.take(without_gradient(case.trace, passes))
        finding = _again(case, again) if len(again) else _finding(case, passes)
        if finding is not None:
            yield finding


def _again(case: RuleContext, again: IndependentPasses) -> RuleFinding | None:
    """Return the finding on passes that autograd records for nothing, beside an equal one."""
    trace = case.trace
    _, places = range_rows(again.first, again.until - again.first)
    rows = np.sort(outermost_calls(trace).rows[places])
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < MANY_PLACES:
        return None
    return RuleFinding(
        title=say(
            "{name} runs again, and no gradient needs it: {share} of the time",
            name=call_title(trace, trace.text(trace.frames.name[again.frame[0]])),
            share=percent(case.share(intervals.length(gone.claim))),
        ),
        explanation=say(
            "Autograd records {calls} of the module, and no backward pass goes through them. An "
            "equal call of the same step, with the same weights, has a backward pass.",
            calls=plural(len(again), "call"),
        ),
        events=len(again),
        evidence=case.examples("frames", again.frame),
        how=say("The time of these calls. If their input is another one, they have to run."),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=True,
        confidence="low",
        source=user_functions.of_frame(trace, int(again.frame[0])),
        fix=_KEEP,
        code=_KEPT,
    )


_KEEP = say(
    "If both calls have the same input, keep the first result, also for metrics and logs: "
    "scores.detach(). If the input is another one, call the model under torch.no_grad()."
)
_KEPT = Code(
    before="loss = criterion(model(x), y)\nhits = (model(x).argmax(1) == y).sum()",
    after="scores = model(x)\nloss = criterion(scores, y)\nhits = (scores.argmax(1) == y).sum()",
)


def _finding(case: RuleContext, found: IndependentPasses) -> RuleFinding | None:
    trace = case.trace
    if case.is_host and not has_few_rows(trace, found):
        return None
    together = _together(case, found)
    # Larger batches need as many samples.
    looping = intervals.subtract(together.looping, case.class_time("input"))
    claim, removes = batched_rounds.saved_in(case, together.ranges, looping, place=together.place)
    if claim is None or case.share(intervals.length(claim)) < MANY_PLACES:
        return None
    read = bool(found.read.any())
    whole = intervals.length(intervals.intersect(together.looping, case.window))
    most = whole / intervals.length(claim) if case.is_host else batched_rounds.MOST_ON_DEVICE
    runs = len(groupby.distinct_values(found.run))
    return RuleFinding(
        title=say(
            "{name} is called {calls:,.0f} times in a row with equal shapes: {share} of the time",
            name=call_title(trace, trace.text(trace.frames.name[found.frame[0]])),
            calls=len(found) / runs,
            share=percent(case.share(intervals.length(claim))),
        ),
        explanation=say(
            "No call reads what the one before returned, and no weight changes between them. A "
            "small operator takes about as long for one input as for many."
        ),
        events=len(found),
        evidence=case.examples("frames", found.frame),
        how=batched_rounds.how(case),
        claim=claim,
        removes=removes,
        # What was read may decide what comes next.
        may_vanish=read,
        # Of calls with the same input one is enough.
        most=1.0 if read else max(most, 1.0),
        confidence="low" if read else "medium",
        source=user_functions.of_frame(trace, int(found.frame[0])),
        lacks=case.lacks("shapes"),
    )


def _together(case: RuleContext, found: IndependentPasses) -> _Together:
    """Return the runs as ranges, the time of all calls but one of each, and places in a pass."""
    trace, thread = case.trace, case.trace.frames.thread[found.frame]
    first = np.flatnonzero(np.diff(found.run, prepend=-1))
    last = np.append(first[1:], len(found)) - 1
    start, end = found.start_ns, found.end_ns
    yes = np.ones(len(found), np.bool_)
    runs = Ranges(thread[first], start[first], end[last], yes[first])
    top = outermost_calls(trace).rows
    of_runs, run = gradients_of(trace, top, runs)
    of_passes, of = gradients_of(trace, top, Ranges(thread, start, end, yes))
    calls, taped = np.bincount(found.run), np.bincount(found.run[groupby.distinct_values(of)])
    looping = intervals.merge(
        batched_rounds.all_but_one((start, end), calls[found.run]),
        batched_rounds.all_but_one((of_passes.start_ns, of_passes.end_ns), taped[found.run[of]]),
    )
    # Between gradients of a run, others are added to those of their parameters.
    begins, ends = starts_run(of_runs.thread, run), ends_run(of_runs.thread, run)
    both = Ranges(
        thread=np.append(runs.thread, of_runs.thread[begins]),
        start_ns=np.append(runs.start_ns, of_runs.start_ns[begins]),
        end_ns=np.append(runs.end_ns, of_runs.end_ns[ends]),
        independent=np.append(runs.independent, of_runs.independent[begins]),
    )
    ordered = both.take(np.lexsort((both.start_ns, both.thread)))
    return _Together(ordered, looping, _places(case, found, top))


def _places(case: RuleContext, found: IndependentPasses, top: I64) -> I64:
    """Return by operator its place in its pass, or that of its forward operator.

    What belongs to no pass has a number of its own: it is called for each of them.
    """
    ops = case.trace.ops
    place = -2 - np.arange(len(ops))
    passes, at = range_rows(found.first, found.until - found.first)
    place[top[at]] = at - found.first[passes]
    forward = call_tree.linked_forward(case.trace)
    linked = np.flatnonzero((forward >= 0) & (place < 0))
    linked = linked[place[forward[linked]] >= 0]
    place[linked] = place[forward[linked]]
    outer = intervals.nearest(ops.parent, place >= 0)
    inner = np.flatnonzero((place < 0) & (outer != NONE))
    place[inner] = place[outer[inner]]
    return place.astype(np.int64)


RULE = Rule(
    name="repeated_passes",
    title=say("Passes that fit into one batch"),
    cause="launching",
    looks_for=say(
        "Two or more calls of one module in a step with equal operators, where nothing that is "
        "made of the results has the size of an input, and neither a backward pass nor an "
        "optimizer is between. On a host alone: products of fewer than {tile} rows; on a device: "
        "in training. Not modules that keep a state or normalize over the batch. Or a call that "
        "autograd records for no backward pass, beside an equal one that has it.",
        tile=TILE,
    ),
    why=say("Each call runs all operators of the module, most of them for little work."),
    fix=say(
        "Join the inputs and divide the result: model(torch.cat((a, b))).chunk(2). Where two calls "
        "have the same input, keep the first result. For many observations or samples, stack them; "
        "a test loader takes larger batches than training does."
    ),
    threshold=say(
        "{least} of the step: batches change the program.", least=exact_percent(MANY_PLACES)
    ),
    reference=say("PyTorch performance tuning guide: increase the batch size."),
    code=Code(
        before="a, b = model(first), model(second)",
        after="a, b = model(torch.cat((first, second))).chunk(2)",
    ),
    check=check,
    needs=("operators", "shapes", "stacks"),
    sees_work=True,
)
