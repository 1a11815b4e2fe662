"""Find the stages of pipelines, and the time in which each stage waits for another: its bubble.

A bubble is the exposed time of a rank's messages and its idle time next to one, within a step: it
includes the transfer of the messages themselves. Stages are in the order of the messages where
the ranks at both ends are recorded, else in the order of ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.ranks.axes import Axis, Group
from tb_privateuse1.analysis.ranks.axis_rows import axis_title
from tb_privateuse1.analysis.ranks.collectives import RankPart
from tb_privateuse1.analysis.ranks.group_parts import MESSAGES
from tb_privateuse1.analysis.ranks.group_sums import RunFigures
from tb_privateuse1.trace import process_groups
from tb_privateuse1.trace.columns import lookup, sums_before
from tb_privateuse1.trace.model import MISSING
from tb_privateuse1.trace.table import I64, Bools

Order = Literal["messages", "ranks"]


class StageRow(Struct, frozen=True):
    """The ranks of one stage, over all pipelines of an axis; times are per rank and step."""

    axis: str
    stage: int
    """From 0, the first one to compute."""
    order: Order
    """How the order of the stages is known."""
    ranks: str
    """In short: ``0-3``, ``0-24:8``."""
    members: int
    messages: float
    """Per rank and step."""
    step_ns: int
    computation_ns: int | None
    waiting_ns: int
    """Exposed time of messages."""
    idle_ns: int
    """Idle time within a step that begins or ends with a message."""
    bubble_ns: int
    """The sum of both."""
    bubble_share: float
    """Of the step."""


class _Rank(Struct, frozen=True):
    """A rank in its pipeline: sums over its counted steps."""

    number: int
    steps: int
    step_ns: int
    computation_ns: int | None
    waiting_ns: int
    idle_ns: int
    messages: int
    peers: frozenset[int]
    sends_first: int
    """In how many steps its first message is one that it sends, less those of the others."""


def stage_rows(run: RunFigures, numbers: Sequence[int]) -> tuple[StageRow, ...]:
    """Return the stages of all pipelines, axis by axis; none without messages.

    ``numbers`` are the ranks of the parts.
    """
    found: list[StageRow] = []
    of_rank = _Ranks(run, numbers)
    for at, axis in enumerate(run.groups.axes):
        if axis.kinds and "pipeline" not in axis.kinds:
            continue
        stages: dict[tuple[int, Order], list[_Rank]] = {}
        for i in np.flatnonzero(run.groups.axis == at).tolist():
            for order, pipeline in _pipelines(of_rank.of_group(i, run.groups.groups[i])):
                for stage, rank in enumerate(pipeline):
                    stages.setdefault((stage, order), []).append(rank)
        found += (_row(axis, *key, ranks) for key, ranks in sorted(stages.items()))
    return tuple(found)


class _Ranks:
    """The messages of each rank."""

    def __init__(self, run: RunFigures, numbers: Sequence[int]) -> None:
        self._run, self._numbers = run, numbers
        self._calls = sums_before(np.array([len(part.calls.step) for part in run.parts]))
        self._steps = sums_before(np.array([len(part.steps.names) for part in run.parts]))

    def of_group(self, index: int, group: Group) -> list[_Rank]:
        """Return the members of a group that send or receive in it; none without two."""
        found = [self._rank(index, part) for part in group.parts.tolist()]
        ranks = [rank for rank in found if rank is not None]
        return ranks if len(ranks) > 1 else []

    def _rank(self, index: int, number: int) -> _Rank | None:
        part, run = self._run.parts[number], self._run
        own = part.by_group
        if not len(own.message_idle_ns):
            return None
        here = slice(self._steps[number], self._steps[number + 1])
        counted: Bools = run.counted[here]
        known = counted & (part.steps.exposed_ns != MISSING) & (part.steps.idle_ns != MISSING)
        is_message = _is_message(part)
        calls = slice(self._calls[number], self._calls[number + 1])
        mine = (run.groups.of_call[calls] == index) & is_message[part.calls.shape]
        mine &= lookup(known, part.calls.step, False)
        if not mine.any():
            return None
        waits = is_message[own.exposed_shape] & known[own.exposed_step]
        waits &= run.groups.of_shapes(part, number, own.exposed_shape) == index
        of_peers = run.groups.of_shapes(part, number, own.message_shape) == index
        work = part.steps.computation_ns[known]
        return _Rank(
            number=self._numbers[number],
            steps=int(known.sum()),
            step_ns=int(part.steps.duration_ns[known].sum()),
            computation_ns=None if (work == MISSING).any() else int(work.sum()),
            waiting_ns=int(own.exposed_ns[waits].sum()),
            idle_ns=int(own.message_idle_ns[known].sum()),
            messages=int(mine.sum()),
            peers=frozenset(own.message_peer[of_peers].tolist()),
            sends_first=_sends_first(part, np.flatnonzero(mine)),
        )


def _is_message(part: RankPart) -> Bools:
    return np.array([shape.label.kind in MESSAGES for shape in part.shapes], np.bool_)


def _sends_first(part: RankPart, rows: I64) -> int:
    """Return the number of steps whose first message is a send, less that of receives."""
    sends = np.array([shape.label.kind == "send" for shape in part.shapes], np.bool_)
    calls = part.calls
    start = calls.end_ns[rows] - calls.duration_ns[rows]
    order = rows[np.lexsort((start, calls.step[rows]))]
    first = order[np.diff(calls.step[order], prepend=-1) != 0]
    return int(np.where(sends[calls.shape[first]], 1, -1).sum())


def _pipelines(ranks: list[_Rank]) -> Iterable[tuple[Order, list[_Rank]]]:
    """Yield the pipelines of a group, and how the order of their ranks is known.

    Ranks that are joined by messages in a line are a pipeline. Without the ranks at the other end,
    or in a ring, all ranks of the group are one, in order.
    """
    if not ranks:
        return
    near = _neighbors(ranks)
    lines: list[list[int]] = []
    left = set(near)
    while left:
        ends = [number for number in sorted(left) if len(near[number]) == 1]
        line = _line(ends[0], near) if ends else []
        if len(line) < 2:
            yield "ranks", sorted(ranks, key=lambda rank: rank.number)
            return
        left -= set(line)
        lines.append(line)
    known = {rank.number: rank for rank in ranks}
    for line in lines:
        first, last = known[line[0]], known[line[-1]]
        forth = line if first.sends_first >= last.sends_first else line[::-1]
        yield "messages", [known[number] for number in forth]


def _neighbors(ranks: list[_Rank]) -> dict[int, set[int]]:
    """Return the ranks that each one exchanges messages with, by the records of either end."""
    near: dict[int, set[int]] = {rank.number: set() for rank in ranks}
    for rank in ranks:
        for peer in (rank.peers & near.keys()) - {rank.number}:
            near[rank.number].add(peer)
            near[peer].add(rank.number)
    return near


def _line(first: int, near: dict[int, set[int]]) -> list[int]:
    """Return the ranks from one end of a line to the other; none if a rank has three neighbors."""
    line, before = [first], -1
    while ahead := near[line[-1]] - {before}:
        if len(ahead) > 1:
            return []
        before = line[-1]
        line += ahead
    return line


def _row(axis: Axis, stage: int, order: Order, ranks: list[_Rank]) -> StageRow:
    steps = sum(rank.steps for rank in ranks)
    work = [rank.computation_ns for rank in ranks if rank.computation_ns is not None]

    def mean(total: int) -> int:
        return round(total / steps)

    waiting, idle = (sum(getattr(r, f"{name}_ns") for r in ranks) for name in ("waiting", "idle"))
    whole = sum(rank.step_ns for rank in ranks)
    return StageRow(
        axis=axis_title(axis),
        stage=stage,
        order=order,
        ranks=process_groups.text_of(process_groups.runs_of([rank.number for rank in ranks])),
        members=len(ranks),
        messages=sum(rank.messages for rank in ranks) / steps,
        step_ns=mean(whole),
        computation_ns=mean(sum(work)) if len(work) == len(ranks) else None,
        waiting_ns=mean(waiting),
        idle_ns=mean(idle),
        bubble_ns=mean(waiting + idle),
        bubble_share=(waiting + idle) / whole if whole else 0.0,
    )
