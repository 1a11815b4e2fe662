"""Replay the steady steps: all of them, or some of a long recording.

Those are a block of equal steps that stands for all (``equal_steps``), else steps from the middle.

The what-if, its ranking and the savings of the advice replay the same steps, so that the gain of a
change is one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from tb_privateuse1.analysis.recording.judged_part import JudgedPart
from tb_privateuse1.analysis.simulation import baseline, changes, equal_steps, excerpt, prediction
from tb_privateuse1.analysis.simulation.baseline import Baseline
from tb_privateuse1.analysis.simulation.changes import Change
from tb_privateuse1.analysis.simulation.dependency_graph import Graph, build_graph
from tb_privateuse1.analysis.simulation.excerpt import Excerpt
from tb_privateuse1.analysis.simulation.prediction import Look, Prediction
from tb_privateuse1.trace.interruption import checkpoint
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64

_EVENTS = 250_000
"""A longer recording is replayed in steps from its middle: each replay of these takes 0.1 s."""

_TOGETHER = 1 << 19
"""Nodes times changes that are replayed together: their weights take 200 MB at most."""

Made = tuple[Change, ...]


class ReplayedPart(Struct, frozen=True):
    """The replayed steps, and their replay without changes."""

    cut: Excerpt
    graph: Graph
    base: Baseline
    is_long: bool
    """A single step has more events than are replayed many times."""

    @property
    def trace(self) -> Trace:
        """The trace of these steps."""
        return self.cut.trace

    @property
    def steps(self) -> I64:
        """The replayed rows of ``trace.steps`` that are judged."""
        return self.cut.steps

    def net_ns(self, judged_ns: float, made: Made = ()) -> float:
        """Return the mean judged time of a step without the profiler's own, in ns.

        Shares of gains are of it; those of ``made`` that take the profiler away are of all.
        """
        if any(one.kind in changes.RECORDING for one in made):
            return max(judged_ns, 1.0)
        return self.base.net_ns(judged_ns, self.steps)

    def made(self, whole: Made) -> Made:
        """Return changes of the whole trace as changes of this part."""
        return tuple(
            one if one.scope is None else replace(one, scope=self.cut.scope(one.scope))
            for one in whole
        )

    def predict(self, wanted: Sequence[Made], look: Look | None = None) -> Iterator[Prediction]:
        """Yield the gain of each set of changes; one set does not count for another.

        ``look`` is shown replays as by ``predict_each``; a place is one in ``wanted``.
        """
        size = max(_TOGETHER // max(len(self.graph.time_ns), 1), 1)
        for first in range(0, len(wanted), size):
            checkpoint(first, len(wanted))
            some = [self.made(one) for one in wanted[first : first + size]]
            shown = None if look is None else _behind(look, first)
            yield from prediction.predict_each(self.trace, self.graph, self.base, some, shown)

    def gains(self, wanted: Sequence[Made]) -> list[int]:
        """Return the mean gain of a step as ``predict`` does, in ns, without its range."""
        weights = [
            (changes.apply_changes(self.graph, self.trace, self.made(one), self.base.earlier),
             prediction.is_of_loader(one))
            for one in wanted
        ]  # fmt: skip
        found = prediction.likely_gains(self.trace, self.graph, self.base, weights)
        return [round(float(gain[self.steps].mean())) for gain in found]


def _behind(look: Look, first: int) -> Look:
    """Return the same for a part of the sets, whose places begin at 0."""
    return lambda place, weights, time_ns: look(first + place, weights, time_ns)


def replayed_part(trace: Trace, judged: JudgedPart, cut: Excerpt | None = None) -> ReplayedPart:
    """Return the replay of the judged part; of a step that is too long for many replays, too.

    ``cut``: the block of equal steps, if it was cut before.
    """
    if cut is None:
        block = equal_steps.equal_block(trace, judged)
        if block is None:
            cut = excerpt.cut_excerpt(trace, judged.steps, _EVENTS)
        else:
            cut = excerpt.cut_steps(trace, block.chosen)
    is_long = cut is None and len(judged.steps) > 0
    cut = excerpt.uncut(trace, judged.steps) if cut is None else cut
    graph = build_graph(cut.trace)
    base = baseline.replay_baseline(cut.trace, graph, judged.apart)
    return ReplayedPart(cut, graph, base, is_long)
