"""Work on places of a batch that no sequence has: padding up to the longest one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tb_privateuse1.advice.removed_operators import Needless, remove
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.advice.rules.rule import Code, Rule, RuleFinding, exact_percent
from tb_privateuse1.advice.thresholds import ANY_PROGRAM, MANY_PLACES
from tb_privateuse1.analysis.idioms.padded_work import PaddedWork, padded_work
from tb_privateuse1.i18n import say
from tb_privateuse1.i18n.units import percent
from tb_privateuse1.trace import intervals


def check(case: RuleContext) -> Iterator[RuleFinding]:
    """Yield the work on padding; a note without a saving where no lengths are recorded."""
    work = padded_work(case.trace)
    known = ~np.isnan(work.shares)
    if known.any():
        # A recurrent layer on a device takes as many steps as the longest sequence has.
        known &= ~work.recurrent | np.bool_(case.is_host)
        yield from _measured(case, work, Needless(work.rows[known], work.shares[known]))
    elif len(work.rows):
        yield from _unknown(case, work)


def _measured(case: RuleContext, work: PaddedWork, padding: Needless) -> Iterator[RuleFinding]:
    """Yield the finding on batches whose lengths are recorded."""
    gone = remove(case, padding)
    if case.share(intervals.length(gone.claim)) < MANY_PLACES:
        return
    filled = [one.filled for one in work.batches if one.filled is not None]
    yield RuleFinding(
        title=say("Work on padding: {share} of the time", share=""),
        explanation=say(
            "A batch of sequences is padded to one length. Of its places, {part} hold no sequence; "
            "the lengths are those of the copies into {batches:,} batches, or of packed ones.",
            part=percent(1 - sum(filled) / len(filled)),
            batches=len(filled),
        ),
        events=len(gone.rows),
        evidence=case.examples("ops", gone.rows),
        how=say(
            "The share of padding in each batch, of the operators that work on all of its places, "
            "until the next batch. Attention over pairs of places would gain more."
        ),
        claim=gone.claim,
        removes=gone.removes,
        confidence="medium",
        source=case.source(gone.rows),
        lacks=case.lacks("stacks"),
        fix=_TO_LONGEST if _beyond_longest(work) > _MOST else None,
    )


def _beyond_longest(work: PaddedWork) -> float:
    """Return the share of the padding that lies behind the longest sequence of its batch."""
    known = [one for one in work.batches if one.filled is not None and one.lengths]
    beyond = sum(one.size * (one.length - one.lengths[-1]) for one in known)
    whole = sum(one.size * one.length * (1 - one.filled) for one in known if one.filled)
    return beyond / whole if whole else 0.0


def _unknown(case: RuleContext, work: PaddedWork) -> Iterator[RuleFinding]:
    """Yield a note on batches with a mask of lengths, whose values are not recorded."""
    rows = work.rows[case.judged[work.rows] & ~work.recurrent]
    if not len(rows) or case.share(intervals.length(remove(case, _all(rows)).claim)) < ANY_PROGRAM:
        return
    yield RuleFinding(
        title=say("Batches have a mask of lengths: how much is padding is not recorded"),
        explanation=say(
            "{operators:,} operators work on all places of batches of {size:,} sequences of "
            "{length:,} places. A mask by each sequence's length, or of keys for all queries, may "
            "hide some of them. Values of tensors are not recorded: none or most may be padding.",
            operators=len(rows),
            size=work.batches[0].size,
            length=work.batches[0].length,
        ),
        events=len(rows),
        evidence=case.examples("ops", rows),
        how=say(
            "Unknown, from 0 on: record the step in which pad_sequence or a loop fills the batch, "
            "or compare lengths.sum() with lengths.max() * len(lengths)."
        ),
        confidence="low",
        source=case.source(rows),
        lacks=case.lacks("stacks"),
        fix=_TO_LONGEST if _has_one_length(case, work) else None,
    )


def _has_one_length(case: RuleContext, work: PaddedWork) -> bool:
    """Return whether the batches of several steps are of one length: it may be a fixed one."""
    steps = case.trace.ops.step[[one.row for one in work.batches]]
    return len(np.unique(steps)) > 1 and len({one.length for one in work.batches}) == 1


def _all(rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Needless:
    return Needless(rows, np.ones(len(rows)))


_MOST = 0.5
"""Share of the padding: the greater part says what to do first."""
_TO_LONGEST = say(
    "Pad each batch to its own longest sequence, or to a multiple of 8 or 64: pad_sequence alone, "
    'padding=True of a tokenizer in place of "max_length". Where compiled code needs fixed '
    "shapes, a few lengths are enough. Then put sequences of similar length into one batch."
)

RULE = Rule(
    name="padding",
    title=say("Work on padding"),
    cause="device",
    looks_for=say(
        "Sequences of different lengths that pad_sequence, pad or copies bring to one length, or "
        "pack_padded_sequence packs; and operators on tensors with a row for each place. Without "
        "these, places compared with a length of each sequence, or an attention's mask of keys "
        "for each sequence. Batches in order of length have no padding that another order removes."
    ),
    why=say(
        "Most operators compute each place of a batch, whether a sequence has it or not: a mask "
        "hides results, and saves no work."
    ),
    fix=say(
        "Put sequences of similar length into one batch (sort or bucket them), or compute only "
        "the places that exist: packed sequences, nested tensors, attention of variable length."
    ),
    threshold=say(
        "{least} of the step: the fix changes how batches are made.",
        least=exact_percent(MANY_PLACES),
    ),
    reference=say("group_by_length of transformers; torch.nested; flash_attn_varlen_func."),
    code=Code(
        before="batches = BatchSampler(RandomSampler(texts), 32, drop_last=False)",
        after="batches = sorted(range(len(texts)), key=lambda i: len(texts[i]))",
    ),
    check=check,
    needs=("work", "operators", "shapes"),
)
