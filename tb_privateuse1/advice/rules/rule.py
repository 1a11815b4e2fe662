"""Interface of rules over one trace: their context, findings and definition.

A rule reads a ``RuleContext`` and yields ``RuleFinding``. Each claims the time that a fix saves, as
a set of instants, and names the work that the fix removes. The saving is what a replay gains
without that work; without a replay, it is the claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

from msgspec import Struct

from tb_privateuse1.advice.judged_trace import Need
from tb_privateuse1.advice.rule_context import RuleContext
from tb_privateuse1.analysis.operators.function_names import ProgramFunction
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.findings import Example

Cause = Literal[
    "input", "launching", "waiting", "device", "communication", "memory", "fallback", "recording"
]
"""``input``: data loading; ``launching``: host-bound; ``waiting``: synchronization of host and
device; ``device``: avoidable work on the device; ``communication``: between ranks; ``memory``;
``fallback``: operators that the backend does not run on its device; ``recording``: the profiling
setup."""

CAUSES: tuple[Cause, ...] = get_args(Cause)

Confidence = Literal["high", "medium", "low"]
"""How well the events prove the cause. ``medium``: other causes are unlikely; ``low``: they are
possible."""


Precedence = Literal["cause", "symptom", "step", "rest"]
"""The order in which rules get an instant that several claim. A cause comes before a symptom
(many short kernels), a symptom before a slow step, and that before mere idle time."""

PRECEDENCES: tuple[Precedence, ...] = get_args(Precedence)


class Code(Struct, frozen=True):
    """A short program with the problem, and the same with the fix; names in it stand for yours."""

    before: str
    after: str


class RuleFinding(Struct, frozen=True):
    """A problem that a rule found in a trace."""

    title: str
    """One line with this trace's figures. With a claim, the engine fills ``{share}`` with the share
    of the saving: title and figure say the same."""
    explanation: str
    """The mechanism, and why it costs time, in plain words."""
    events: int
    """The number of events with the problem."""
    evidence: tuple[Example, ...]
    how: str
    """How the saving was computed; why none is known if ``claim`` is None."""
    claim: intervals.Set | None = None
    """The instants that a fix saves; None if unknown."""
    removes: Scope | None = None
    """The work that a fix removes (``RuleContext.without``): the what-if knows it as
    ``finding:NAME``. The saving is what that gains; the claim where there is neither this nor a
    change."""
    change: Change | None = None
    """The fix as a change of the what-if that has a name (``RuleContext.change``). It stands
    instead of ``removes``."""
    most: float = 1.0
    """How many times the saving it may be: the upper end of its range, where what the fix leaves
    of the work is known from below alone."""
    least: float = 1.0
    """How many times the saving it is at least: 0 where the fix may not exist for this device."""
    may_vanish: bool = False
    """What comes in the place of ``removes`` may take as long: the range begins at nothing."""
    once: intervals.Set = intervals.EMPTY
    """For a finding without a claim: instants that no step has but one or two. No symptom, slow
    step or idle time may claim them. The finding is dropped if causes have most of them."""
    confidence: Confidence = "medium"
    source: ProgramFunction | str | None = None
    """The function of the user's program (``case.source``), or a frame: ``train.py(12): step``."""
    lacks: tuple[str, ...] = ()
    """Data that the profile lacks and that would raise the confidence."""
    urgent: bool = False
    """It endangers the run (out of memory) or distorts figures, even without a saving."""
    fix: str | None = None
    """The fix in this trace; None is the rule's."""
    code: Code | None = None
    """The code of this fix; None is the rule's, where the fix is the rule's, too."""
    by_remedy: bool = True
    """Whether the rule's remedy, if it has one, applies this fix."""
    note: RuleFinding | None = None
    """What is true even if the claim turns out to save nothing: a finding without a claim."""


class Rule(Struct, frozen=True):
    """A pattern, its reason and its fix."""

    name: str
    title: str
    cause: Cause
    looks_for: str
    why: str
    fix: str
    threshold: str
    """The threshold, and the reason for it."""
    reference: str
    """The tool or document that knows this pattern."""
    check: Callable[[RuleContext], Iterable[RuleFinding]]
    needs: tuple[Need, ...] = ()
    partly: tuple[Need, ...] = ()
    """Without these it looks at a part of what it looks for, or is less sure."""
    sees_work: bool = False
    """It judges the operators of a host alone as work, as the need ``work`` says, and is asked of
    recordings without any work as well."""
    reads_all: bool = False
    """It compares steps, or looks at the recording: it reads all steps where others read some."""
    precedence: Precedence = "cause"
    code: Code | None = None
    """None where the fix is no change of code."""
    remedy: str | None = None
    """The name of the remedy that ``tb-privateuse1 try`` applies (``remedies``). None: no remedy is
    mechanical, as the fix changes the program's own lines."""


def exact_percent(share: float) -> str:
    """Return a constant as text: ``3 %``, ``0.5 %``."""
    return f"{100 * share:g} %"
