"""Replay of the steps with the work of one finding after another removed, to get each gain.

The idle time of a finding is its greatest possible gain. A fix may gain less: the next wait, or the
next kernel, may then limit the program.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tb_privateuse1.analysis.simulation import changes, prediction
from tb_privateuse1.analysis.simulation.changes import Shares
from tb_privateuse1.analysis.simulation.dependency_graph import WAIT, Graph
from tb_privateuse1.analysis.simulation.excerpt import Excerpt
from tb_privateuse1.analysis.simulation.submissions import Ranges
from tb_privateuse1.trace.model import NONE, Trace
from tb_privateuse1.trace.table import I64, Bools


@dataclass(frozen=True)
class Removal:
    """The work that a fix removes: host ranges, shares of activities, and waits.

    ``shares`` (0 to 1) has a share per row of ``kernels``, or one for all. Waits are those of the
    operators ``wait_ops`` and the calls ``wait_launches``. All are rows of the whole trace.
    """

    host: Ranges
    kernels: I64
    shares: Shares | float
    wait_ops: I64
    wait_launches: I64


@dataclass(frozen=True)
class RemovalGain:
    """The gain of all replayed steps together, and its error bound."""

    gain_ns: int
    bound_ns: int


class RemovalReplay:
    """The replay of an excerpt, with more work removed at each call."""

    def __init__(self, whole: Trace, part: Excerpt, graph: Graph) -> None:
        self._part, self._graph = part, graph
        self._host: Ranges | None = None
        self._device = np.ones(len(whole.kernels))
        self._ops = np.zeros(len(whole.ops) + 1, np.bool_)
        self._launches = np.zeros(len(whole.launches) + 1, np.bool_)
        base = prediction.replay_baseline(part.trace, graph)
        self._lengths = self._totals(base.held, *base.others)

    def without(self, removal: Removal) -> RemovalGain:
        """Return the additional gain of a removal; later calls include the removal."""
        self._host = removal.host if self._host is None else self._host.and_(removal.host)
        self._device[removal.kernels] *= 1 - removal.shares
        self._ops[removal.wait_ops] = True
        self._launches[removal.wait_launches] = True
        part, graph = self._part, self._graph
        weights = changes.scale_weights(
            graph,
            1 - changes.thread_shares(graph, self._host),
            self._device[part.kernels],
            np.ones(len(graph.edges.kind)),
            self._freed(),
        )
        after = self._totals(
            prediction.step_durations(part.trace, graph, weights),
            *prediction.alternative_lengths(part.trace, graph, weights),
        )
        gains = [was - now for was, now in zip(self._lengths, after, strict=True)]
        self._lengths = after
        return RemovalGain(max(gains[0], 0), max(abs(gain - gains[0]) for gain in gains))

    def _freed(self) -> Bools:
        """Return a flag per edge of the graph: its wait is removed."""
        waits, edges = self._graph.waits, self._graph.edges
        # Rows of the excerpt to rows of the whole trace; the last entry stands for ``NONE``.
        op = np.append(self._ops[self._part.ops], False)[waits.op]
        launch = np.append(self._launches[self._part.launches], False)[waits.launch]
        is_removed = np.append(np.where(waits.launch >= 0, launch, op), False)
        freed: Bools = is_removed[np.where(edges.kind == WAIT, edges.wait, NONE)]
        return freed

    def _totals(self, *lengths: I64) -> list[int]:
        return [int(by_step[self._part.steps].sum()) for by_step in lengths]
