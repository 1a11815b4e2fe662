"""Texts about collectives that some ranks did not join, for the page, the rule and the CLI."""

from __future__ import annotations

from collections.abc import Sequence

from tb_privateuse1.analysis.ranks.notes import listed
from tb_privateuse1.analysis.ranks.open_collectives import OpenCollective, RankCall
from tb_privateuse1.i18n import join_sentences, say

_NAMED = 3
"""Calls of other ranks that an explanation has one by one."""


def title(one: OpenCollective) -> str:
    """Return one sentence that names the ranks, the collective and the group."""
    call, group = _named(one), one.purpose or say("group {name}", name=one.group)
    missing = _ranks(one.missing)
    if one.verdict == "different":
        ranks = _ranks([odd.rank for odd in one.different])
        return say("{ranks} called something else than {call} of {group}", ranks=ranks, call=call,
                   group=group)  # fmt: skip
    if one.verdict == "circle":
        return say("{ranks} did not join {call} of {group}: two groups wait for each other",
                   ranks=missing, call=call, group=group)  # fmt: skip
    if one.verdict == "behind":
        return say("{ranks} did not join {call} of {group}: waiting in another group",
                   ranks=missing, call=call, group=group)  # fmt: skip
    if one.verdict == "missing":
        return say("{ranks} did not join {call} of {group}", ranks=missing, call=call, group=group)
    return say("{call} of {group} has not ended, though each rank here joined it", call=call,
               group=group)  # fmt: skip


def explanation(one: OpenCollective) -> str:
    """Return who waits and where, and what the others called."""
    found: list[str] = []
    if one.started:
        found.append(say("{ranks} started it.", ranks=_ranks(one.started)))
    if one.scheduled:
        found.append(say("{ranks} enqueued it.", ranks=_ranks(one.scheduled)))
    if one.ended:
        found.append(say("{ranks} left it.", ranks=_ranks(one.ended)))
    found.append(say("Rank {rank} called {call}.", rank=one.call.rank, call=_call(one.call)))
    for call in one.different[:_NAMED]:
        found.append(say("Rank {rank} called {call}.", rank=call.rank, call=_call(call)))
    for call in one.instead[:_NAMED]:
        if call.name:
            text = say("Rank {rank} last called {call}.", rank=call.rank, call=_call(call))
        else:
            text = say("Rank {rank} has called nothing.", rank=call.rank)
        found.append(text)
    if one.unknown:
        found.append(say("{ranks}: no dump says.", ranks=_ranks(one.unknown)))
    return join_sentences(found)


def evidence(one: OpenCollective) -> list[tuple[int, str]]:
    """Return the ranks that show it, with a note each; those that are the cause come first."""
    causes: list[tuple[int, str]]
    causes = [(call.rank, say("called {call}", call=_call(call))) for call in one.different]
    causes += [
        (call.rank, say("last called {call}", call=_call(call)))
        for call in one.instead
        if call.name
    ]
    named = {rank for rank, _ in causes}
    states = (
        (one.missing, say("did not join")), (one.started, say("started it")),
        (one.scheduled, say("enqueued it")), (one.ended, say("left it")),
    )  # fmt: skip
    others: list[tuple[int, str]]
    others = [(rank, note) for ranks, note in states for rank in ranks if rank not in named]
    return causes + others


def _named(one: OpenCollective) -> str:
    name = one.call.name.partition(":")[2] or one.call.name
    return name if one.sequence is None else f"{name} #{one.sequence}"


def _call(call: RankCall) -> str:
    """Return a call like ``nccl:all_reduce(Float[8]) #7 of group 0 at train.py(21): loss``."""
    name = f"{call.name}({call.inputs})" if call.inputs else call.name
    name += "" if call.sequence is None else f" #{call.sequence}"
    text = say("{name} of group {group}", name=name, group=call.group)
    return say("{text} at {place}", text=text, place=call.stack) if call.stack else text


def _ranks(ranks: Sequence[int]) -> str:
    if len(ranks) == 1:
        return say("Rank {rank}", rank=ranks[0])
    return say("Ranks {ranks}", ranks=listed(sorted(ranks)))
