"""What a rule is, what it is asked about, and what it answers.

A rule looks at one trace (``Case``) and says what it found (``Found``) with the time that would
be saved, as a set of instants, and what mending takes away. The advisor sees to it that no instant
is claimed twice, and that no more is promised than the replayed steps gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from tb_privateuse1.advice.context import LACKS as LACKS
from tb_privateuse1.advice.context import Need as Need
from tb_privateuse1.advice.removal_replay import Removal
from tb_privateuse1.advice.selection import RuleContext as RuleContext
from tb_privateuse1.i18n import join_list as join_list
from tb_privateuse1.i18n import join_sentences as join_sentences
from tb_privateuse1.i18n import plural as plural
from tb_privateuse1.i18n import say as say
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example

Cause = Literal[
    "input", "launching", "waiting", "device", "communication", "memory", "fallback", "recording"
]
"""``input``: data comes late; ``launching``: the host feeds the device too slowly; ``waiting``:
host and device wait for each other; ``device``: work on the device that could be less;
``communication``: between ranks; ``memory``; ``fallback``: operators that the backend does not
run on its device; ``recording``: what a better profile would tell."""

CAUSES: tuple[Cause, ...] = get_args(Cause)

Confidence = Literal["high", "medium", "low"]
"""``high``: the events say so themselves; ``medium``: they fit, and hardly anything else does;
``low``: other causes are possible."""


Precedence = Literal["cause", "symptom", "step", "rest"]
"""Who takes an instant that several rules claim: a cause before a symptom (many short kernels),
a symptom before a slow step, and this before what merely says that the device was idle."""

PRECEDENCES: tuple[Precedence, ...] = get_args(Precedence)


@dataclass(frozen=True)
class RuleFinding:
    """What a rule found in a trace."""

    title: str
    """One line with this trace's figures."""
    explanation: str
    """What happens and why it costs time, in plain words."""
    events: int
    """How many events it is about."""
    evidence: tuple[Example, ...]
    how: str
    """How the saving was computed; why there is none where ``claim`` is None."""
    claim: intervals.Set | None = None
    """The instants that would be saved; None: not known."""
    removes: Removal | None = None
    """What mending takes away (``Case.without``): the advisor replays the trace without that, and
    promises no more than is then gained. None: the instants stand."""
    confidence: Confidence = "medium"
    source: str | None = None
    """Line of the user's program."""
    lacks: tuple[str, ...] = ()
    """What the profile lacked to be surer."""
    urgent: bool = False
    """Without a saving: whether it endangers the run (out of memory), or wrongs the figures."""


@dataclass(frozen=True)
class Rule:
    """What to look for and what to do about it."""

    name: str
    title: str
    cause: Cause
    looks_for: str
    why: str
    fix: str
    threshold: str
    """From when on it speaks, and why from there."""
    reference: str
    """Who else knows this, or the document behind it."""
    check: Callable[[RuleContext], Iterable[RuleFinding]]
    needs: tuple[Need, ...] = ()
    precedence: Precedence = "cause"


def percent(share: float) -> str:
    """``12 %``, with a decimal below 10."""
    return f"{100 * share:.0f} %" if share >= 0.1 else f"{100 * share:.1f} %"
