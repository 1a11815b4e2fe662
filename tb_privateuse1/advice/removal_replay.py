"""What steps gain when one finding after the other is mended, by the replay of what waits for what.

Instants in which a device idles tell what a finding costs at most. What mending it gains may be
less: the next wait, or the next kernel, may then be what the program stands still for.
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
    """What mending takes away: ranges of host threads, of activities their share, and waits.

    ``shares`` (0 to 1) are those of each of ``kernels``, or of all. Waits are those of the
    operators ``wait_ops`` and the calls ``wait_launches``. All are rows of the whole trace.
    """

    host: Ranges
    kernels: I64
    shares: Shares | float
    wait_ops: I64
    wait_launches: I64


@dataclass(frozen=True)
class RemovalGain:
    """What the replayed steps gain together, and by how much that may be off."""

    gain_ns: int
    bound_ns: int


class RemovalReplay:
    """The replay of an excerpt, with more and more taken away."""

    def __init__(self, whole: Trace, part: Excerpt, graph: Graph) -> None:
        self._part, self._graph = part, graph
        self._host: Ranges | None = None
        self._device = np.ones(len(whole.kernels))
        self._ops = np.zeros(len(whole.ops) + 1, np.bool_)
        self._launches = np.zeros(len(whole.launches) + 1, np.bool_)
        base = prediction.replay_baseline(part.trace, graph)
        self._lengths = self._totals(base.held, *base.others)

    def without(self, removal: Removal) -> RemovalGain:
        """What is gained by this, too; from then on it is gone."""
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
        """The edges by which nobody waits any more."""
        waits, edges = self._graph.waits, self._graph.edges
        # Rows of the part, and behind them one for none, to rows of the whole trace.
        op = np.append(self._ops[self._part.ops], False)[waits.op]
        launch = np.append(self._launches[self._part.launches], False)[waits.launch]
        gone = np.append(np.where(waits.launch >= 0, launch, op), False)
        found: Bools = gone[np.where(edges.kind == WAIT, edges.wait, NONE)]
        return found

    def _totals(self, *lengths: I64) -> list[int]:
        return [int(one[self._part.steps].sum()) for one in lengths]
