"""Forward work for a loss or a backward pass that does not need it, or that never comes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ONE_PLACE
from tb_privateuse1.analysis.idioms.unread_measures import unread_measures
from tb_privateuse1.analysis.idioms.unread_results import unread_results
from tb_privateuse1.analysis.purpose.served_dropouts import ServedDropouts, served_dropouts
from tb_privateuse1.i18n import join_sentences, say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.table import I64

_SERVED = Code(
    before="scores = model(x)  # as training has left it",
    after="model.eval()\nwith torch.inference_mode():\n    scores = model(x)",
)


_MEASURED = Code(
    before="accuracy = top_k(scores.detach(), labels)\nloss.backward()",
    after=("if step % 100 == 0:\n    accuracy = top_k(scores.detach(), labels)\nloss.backward()"),
)


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield forward work without a part in the loss; in inference, dropouts as in training."""
    if "shapes" in case.has:
        rows = unread_results(case.trace)
        yield from _left_out(case, rows)
        yield from _measured(case, rows)
    served = served_dropouts(case.trace)
    if len(served.rows) and (served.recorded or served.of_module):
        yield from _served(case, served)


def _left_out(case: RuleContext, rows: I64) -> Iterator[RuleFinding]:
    """Yield the operators of forward passes without a part in the loss, and without a reader."""
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    yield RuleFinding(
        title=say("The forward pass computes what nobody reads: {share} of the time", share=""),
        explanation=say(
            "Autograd recorded {count:,} operators that no backward pass goes through: they have "
            "no part in a loss. No other operator reads their results.",
            count=len(gone.rows),
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of these operators."),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
    )


def _measured(case: RuleContext, others: I64) -> Iterator[RuleFinding]:
    """Yield what passes compute of their own results for no gradient, but for ``others``."""
    found = unread_measures(case.trace)
    rows = np.setdiff1d(found.rows, others)
    gone = remove(case, Needless(rows, np.ones(len(rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    computed = say(
        "{count:,} operators compute something of a pass's results that no gradient needs and no "
        "later pass reads: metrics or statistics.",
        count=len(gone.rows),
    )
    read = say(
        "The host reads {reads:,} numbers of them. If these decide what the program does next, "
        "they are needed.",
        reads=found.reads,
    )
    yield RuleFinding(
        title=say("Training passes compute metrics or statistics: {share} of the time", share=""),
        explanation=join_sentences([computed, read] if found.reads else [computed]),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "The time of these operators. Computed in each n-th step, all but an n-th of it goes."
        ),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=found.reads > 0,
        confidence="low" if found.reads else "medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
        fix=say(
            "Compute them after each n-th step only, or on held-out data; attach such hooks for "
            "these steps alone."
        ),
        code=_MEASURED,
    )


def _served(case: RuleContext, served: ServedDropouts) -> Iterator[RuleFinding]:
    """Yield the dropouts of inference; without autograd's record they are more likely meant."""
    gone = remove(case, Needless(served.rows, np.ones(len(served.rows))))
    if case.share(intervals.length(gone.claim)) < ONE_PLACE:
        return
    drawn = say(
        "{count:,} dropouts draw random numbers, as in training, but nothing of the recording "
        "computes gradients.",
        count=len(gone.rows),
    )
    graph = say(
        "Autograd recorded {recorded:,} operators for a backward pass that never came, and kept "
        "what it would read.",
        recorded=served.recorded,
    )
    yield RuleFinding(
        title=say("Inference draws dropout as in training: {share} of the time", share=""),
        explanation=join_sentences([drawn, graph] if served.recorded else [drawn]),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say("The time of the dropouts. What autograd's record costs is not known."),
        claim=gone.claim,
        removes=gone.removes,
        may_vanish=not served.recorded,
        confidence="medium" if served.recorded else "low",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
        fix=say(
            "Call model.eval() ahead of inference, and the model under torch.inference_mode(). "
            "Answers change with dropout: if that is meant, leave it."
        ),
        code=_SERVED,
    )


RULE = Rule(
    name="unread_results",
    title=say("Results that nobody reads"),
    cause="device",
    looks_for=say(
        "Operators of a training step's forward pass that autograd numbers, whose nodes no "
        "backward pass evaluates, and whose results no other operator reads before the next pass. "
        "What the pass computes of its results without gradients, if nothing of the loss, no state "
        "and no later pass reads it. "
        "In inference, dropouts that draw, unless inputs, modules or a spread of results show that "
        "a model is asked several times."
    ),
    why=say("A head, a branch or an output that the loss leaves out costs its whole forward pass."),
    fix=say(
        "Do not call the module whose output is left out; let the model return it on request only."
    ),
    threshold=say(
        "{least} of the step. Readers are known by the sizes of tensors: if in doubt, a result is "
        "read.",
        least=exact_percent(ONE_PLACE),
    ),
    reference=say("DistributedDataParallel's find_unused_parameters."),
    code=Code(
        before="scores, boxes = model(x)\nloss = criterion(scores, labels)",
        after="scores = model.score(model.features(x))\nloss = criterion(scores, labels)",
    ),
    check=check,
    needs=("operators",),
    partly=("shapes",),
)
