"""Join the iterations of a plain loop to generations: a prompt, and the tokens that follow it.

Only a loop whose ids are (sequences, tokens of each) has its sequences from the first iteration to
the last. An engine changes its batch between iterations, and nothing says which requests it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from tb_privateuse1.analysis.serving.iterations import Iteration


class Generation(Struct, frozen=True):
    """A prompt and what it gave, as positions among the iterations."""

    first: int
    """The iteration that reads the prompt."""
    count: int
    """Iterations: each gives a token of every sequence."""
    requests: int
    prompt_tokens: int
    """Of each sequence."""


def generations(found: Sequence[Iteration]) -> list[Generation]:
    """Return the generations whose prompt is recorded, in order of time."""
    result = []
    for i, one in enumerate(found):
        starts = one.found == "shape" and one.kind == "prefill" and not one.repeats
        if not starts or not one.requests or one.tokens is None or not one.by_sequence:
            continue
        count = 1
        for other in found[i + 1 :]:
            if other.thread != one.thread or other.requests != one.requests:
                break
            if other.kind != "decode" and not other.repeats:
                break
            count += 1
        result.append(Generation(i, count, one.requests, one.tokens // one.requests))
    return result
