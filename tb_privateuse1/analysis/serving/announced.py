"""Read what engines write in the annotation of an iteration: requests and tokens by phase.

An annotation counts by its structure: a number of requests beside the word of a phase. The forms
are those of vLLM (``vllm/v1/worker/gpu_worker.py``), of its builds with sums of lengths,
SGLang (``step[MODE bs=N toks=N]``) and TensorRT-LLM (``_forward_step``, ``executeStep``).
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

from tb_privateuse1.analysis.work.announced_attention import LABELED, MOST_DIGITS

Kind = Literal["prefill", "decode", "mixed", "unknown"]

_COUNT = rf"(?<!\d)\d{{1,{MOST_DIGITS}}}(?!\d)"


def _sums(name: str) -> str:
    """Return the pattern of a phase: its requests, and in parentheses their sums."""
    return rf"(?P<{name}>{_COUNT})\((?P<{name}_sizes>\w*)\)"


_FORMS = (
    re.compile(rf"execute(?:_\d+)?_context_{_sums('c')}_generation_{_sums('g')}"),
    re.compile(
        rf"(?P<c>{_COUNT}) ctx reqs, (?:(?P<c_tokens>{_COUNT}) ctx tokens, )?"
        rf"(?P<g>{_COUNT}) gen reqs"
    ),
    re.compile(rf"execute_new_(?P<new>{_COUNT})_cached_(?P<cached>{_COUNT})"),
    re.compile(rf"step\[(?P<mode>[A-Z_]+) bs=(?P<bs>{_COUNT})(?: toks=(?P<toks>{_COUNT}))?"),
)
_WORD = re.compile(r"(?<![a-z])(prefill|decode)(?![a-z])", re.IGNORECASE)

_MODES: dict[str, Kind] = {
    "EXTEND": "prefill",
    "SPLIT_PREFILL": "prefill",
    "DECODE": "decode",
    "TARGET_VERIFY": "decode",
    "MIXED": "mixed",
}
"""SGLang's ``ForwardMode`` (``forward_batch_info.py``); others, such as IDLE, are unknown here."""


class Announced(Struct, frozen=True):
    """The phase, requests and tokens in one annotation; None is not in it."""

    kind: Kind
    requests: int | None = None
    tokens: int | None = None
    """Those that this iteration computes, of all requests."""
    context: int | None = None
    """Those that attention reads, of all requests; with the tokens of this iteration."""


def announced(name: str) -> Announced | None:
    """Return what an annotation says of its iteration; None if it is not the form of an engine."""
    for form in _FORMS:
        if found := form.search(name):
            words = found.groupdict()
            if "mode" in words:
                return _of_mode(words["mode"], int(words["bs"]), words["toks"])
            if "new" in words:
                return _of_requests(int(words["new"]), int(words["cached"]))
            return _of_counts(words)
    return None


def bare_phase(name: str) -> Kind | None:
    """Return the phase of a program's own range, such as ``decode_step_3``; None without the word.

    The word alone proves nothing: images and latents are decoded, too.
    """
    found = {word.lower() for word in _WORD.findall(name)}
    if len(found) != 1:
        return None
    return "prefill" if "prefill" in found else "decode"


def _of_mode(mode: str, requests: int, tokens: str | None) -> Announced:
    kind = _MODES.get(mode, "unknown")
    if tokens is not None:
        return Announced(kind, requests, int(tokens))
    # A decode of SGLang has a token for each request; drafted tokens are verified in another mode.
    return Announced(kind, requests, requests if mode == "DECODE" else None)


def _of_requests(new: int, cached: int) -> Announced:
    """Return vLLM's older form: a cached request may be in the middle of its prompt."""
    return Announced("prefill" if new and not cached else "unknown", new + cached)


def _of_counts(words: dict[str, str | None]) -> Announced:
    context, generation = int(words["c"] or 0), int(words["g"] or 0)
    kind: Kind = "unknown"
    if context and generation:
        kind = "mixed"
    elif context or generation:
        kind = "prefill" if context else "decode"
    first = _sizes(words.get("c_sizes"), words.get("c_tokens"), context)
    second = _sizes(words.get("g_sizes"), None, generation)
    tokens, keys = (_sum(*pair) for pair in zip(first, second, strict=True))
    return Announced(kind, context + generation, tokens, keys)


def _sizes(text: str | None, tokens: str | None, requests: int) -> tuple[int | None, int | None]:
    """Return the sums of tokens and of keys of a phase; no request has none."""
    if not requests:
        return 0, 0
    if text is None:
        return (None if tokens is None else int(tokens)), None
    labeled = {label: int(number) for label, number in LABELED.findall(text)}
    if labeled:
        return labeled.get("sq"), labeled.get("sk")
    first = text.partition("_")[0]  # behind it the squares of the lengths, if any
    return (int(first) if _is_count(first) else None), None


def _is_count(text: str) -> bool:
    return text.isdecimal() and len(text) <= MOST_DIGITS


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
