"""Decide which findings are reported, by the time that they claim and what their fix gains.

Causes claim their time first. A symptom is about the time that no cause explains, and mere idle
time about what is left then. A finding that claims or gains next to nothing is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.advice.read_steps import ReadSteps
from tb_privateuse1.advice.rules.rule import PRECEDENCES, Precedence, Rule, RuleFinding
from tb_privateuse1.advice.savings import Claim, Saving, Savings
from tb_privateuse1.advice.thresholds import NOISE
from tb_privateuse1.analysis.idle import device_bound
from tb_privateuse1.analysis.simulation import scopes
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.trace import intervals


class Reported(Struct, frozen=True):
    """A finding that is reported."""

    rule: Rule
    finding: RuleFinding
    claim: intervals.Set = intervals.EMPTY
    """The instants that it claims; of a symptom those that no cause explains."""
    saving: Saving | None = None
    """None without a claim."""


class _Named(Struct, frozen=True):
    """A finding, and its name among the changes."""

    rule: Rule
    finding: RuleFinding
    name: str

    @property
    def level(self) -> Precedence:
        """Return when it claims its time; what happened once comes behind causes."""
        return "cause" if self.finding.claim is None else self.rule.precedence


def report(
    read: ReadSteps, found: Sequence[tuple[Rule, RuleFinding]], savings: Savings
) -> list[Reported]:
    """Return the findings that are worth their fix, and the notes of others; causes first."""
    rows: list[Reported] = []
    assigned = intervals.EMPTY
    named = list(_named(found))
    for level in PRECEDENCES:
        own = [one for one in named if one.level == level]
        claiming = [one for one in own if one.finding.claim is not None]
        for row in _worth(read, claiming, assigned, savings):
            rows.append(row)
            if row.saving is not None:
                explained = _explained(row, row.saving.ns, savings.in_all(row.claim), assigned)
                assigned = intervals.merge(assigned, explained)
        for one in own:
            if one.finding.claim is None:
                free = intervals.subtract(one.finding.once, assigned)
                if 2 * intervals.length(free) >= intervals.length(one.finding.once):
                    rows.append(Reported(one.rule, one.finding))
                assigned = intervals.merge(assigned, free)
    return rows


def _named(found: Sequence[tuple[Rule, RuleFinding]]) -> Iterator[_Named]:
    """Yield the findings, the greatest claims first; further ones of a rule have a number."""
    count: Counter[str] = Counter()
    for rule, finding in sorted(found, key=lambda pair: _size(pair[1])):
        count[rule.name] += 1
        number = count[rule.name]
        yield _Named(rule, finding, rule.name if number == 1 else f"{rule.name}#{number}")


def _size(finding: RuleFinding) -> int:
    return -intervals.length(finding.once if finding.claim is None else finding.claim)


def _worth(
    read: ReadSteps, own: Sequence[_Named], assigned: intervals.Set, savings: Savings
) -> Iterator[Reported]:
    """Yield the findings of one level whose claim and gain matter, or their notes."""
    kept: list[tuple[_Named, Claim]] = []
    explained = assigned
    for one in own:
        time = intervals.intersect(one.finding.claim or intervals.EMPTY, read.window)
        if one.level != "cause":
            time = intervals.subtract(time, explained)
            explained = intervals.merge(explained, time)
        if read.share(time) >= NOISE or one.finding.urgent:
            kept.append((one, Claim(one.finding.how, time, _change(one, assigned))))
        elif one.finding.note is not None:
            yield Reported(one.rule, one.finding.note)
    saved = savings.of([claim for _, claim in kept])
    for (one, claim), saving in zip(kept, saved, strict=True):
        if savings.share(saving.ns) >= NOISE or one.finding.urgent:
            yield Reported(one.rule, one.finding, claim.time, saving)
        elif one.finding.note is not None:
            yield Reported(one.rule, one.finding.note)


def _change(one: _Named, assigned: intervals.Set) -> Change | None:
    """Return the fix as a change; a symptom's leaves the host time to causes that explain it."""
    finding = one.finding
    if finding.change is not None or finding.removes is None:
        return finding.change
    scope = replace(
        finding.removes,
        most=finding.most,
        least=finding.least,
        may_vanish=finding.may_vanish,
    )
    if one.level != "cause":
        scope = scopes.outside_of(scope, assigned)
    return Change("finding", one.name, 0.0, scope)


def _explained(
    row: Reported, saving_ns: int, claimed: int, assigned: intervals.Set
) -> intervals.Set:
    """Return the instants that a finding explains and no earlier one.

    If it gains less than it claims, the rest would become another wait: that wait's rule has it.
    """
    free = intervals.subtract(row.claim, assigned)
    gained = max(saving_ns, 0)
    return free if gained >= claimed else device_bound.shorten(free, gained / claimed)
