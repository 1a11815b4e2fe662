"""Tell prefill from decode by the shapes of forward passes.

One token of each sequence is a decode. Several tokens of each, with their own keys only, are a
prefill; beside keys of earlier passes they may be part of a prompt or drafted tokens: unknown.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from msgspec import Struct

from tb_privateuse1.analysis.serving.announced import Kind
from tb_privateuse1.analysis.serving.token_passes import Pass
from tb_privateuse1.i18n import say

_FEWEST_GROWING = 3
"""Passes that each have one token more: two may be prompts of neighboring lengths."""


class Shaped(Struct, frozen=True):
    """The phase, requests and tokens in the shapes of one pass; None is not in them."""

    kind: Kind
    requests: int | None
    tokens: int
    context: int | None
    """Keys of all sequences; None where they are those of a cache of fixed size."""
    repeats: bool
    """Whether it computes all tokens of the pass before again, and one more of each sequence."""
    reason: str | None
    """Why its kind is unknown."""


def generates(passes: Sequence[Pass]) -> bool:
    """Return whether some passes of a thread are of generation: a decode, or tokens that grow."""
    if any(_is_decode(one) for one in passes):
        return True
    grown = 1
    for before, after in itertools.pairwise(passes):
        grown = grown + 1 if _is_repeated(before, after) else 1
        if grown >= _FEWEST_GROWING:
            return True
    return False


def by_shape(passes: Sequence[Pass]) -> list[Shaped]:
    """Return what the shapes say of each of some passes of a thread, in order of time."""
    around = zip([None, *passes][:-1], passes, [*passes, None][1:], strict=True)
    return [_shaped(before, one, after) for before, one, after in around]


def _shaped(before: Pass | None, one: Pass, after: Pass | None) -> Shaped:
    requests = one.ids[0] if len(one.ids) == 2 else one.scored
    repeats = before is not None and _is_repeated(before, one)
    context = _context(before, one, after) if requests is not None and len(one.ids) == 2 else None
    kind, reason = _kind(before, one)
    return Shaped(kind, requests, one.tokens, context, repeats, reason)


def _kind(before: Pass | None, one: Pass) -> tuple[Kind, str | None]:
    if _is_decode(one):
        return "decode", None
    if len(one.ids) == 2:
        if before is not None and _has_grown(before, one):
            return "unknown", say(
                "Several tokens of a sequence beside a cache: part of a prompt, or drafted tokens."
            )
        return "prefill", None
    if one.scored == 1:
        return "prefill", None
    return "unknown", say("The sequences lie in one row of tokens: their lengths are not recorded.")


def _is_decode(one: Pass) -> bool:
    return one.ids[-1] == 1 if len(one.ids) == 2 else one.tokens == 1


def _is_repeated(before: Pass, after: Pass) -> bool:
    """Return whether all tokens of a pass come again, with one more of each sequence."""
    first, second = before.ids, after.ids
    return len(first) == len(second) == 2 and second == (first[0], first[1] + 1)


def _has_grown(before: Pass, after: Pass) -> bool:
    """Return whether the keys of a pass are those of the one before, and its own tokens."""
    if before.keys is None or after.keys is None or before.ids[0] != after.ids[0]:
        return False
    return after.keys == before.keys + after.ids[-1]


def _context(before: Pass | None, one: Pass, after: Pass | None) -> int | None:
    """Return the keys of all sequences, if they are no more than there are tokens so far.

    A cache of fixed size has as many keys in all passes, most of them empty.
    """
    if one.keys is None:
        return None
    own = one.keys == one.ids[-1]
    known = own or (before is not None and _has_grown(before, one))
    known = known or (after is not None and _has_grown(one, after))
    return one.keys * one.ids[0] if known else None
