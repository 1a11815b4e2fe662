"""Replay of the steps with the work of one finding after another removed, to get each gain.

The idle time of a finding is its greatest possible gain. A fix may gain less: the next wait, or the
next kernel, may then limit the program. The profiler's own time is no gain: the steps are replayed
without it, as the what-if estimates it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tb_privateuse1.analysis.simulation import prediction, scopes
from tb_privateuse1.analysis.simulation.assumptions import without_profiler
from tb_privateuse1.analysis.simulation.dependency_graph import Graph
from tb_privateuse1.analysis.simulation.excerpt import Excerpt
from tb_privateuse1.analysis.simulation.profiler_time import Shares
from tb_privateuse1.analysis.simulation.replay import Weights
from tb_privateuse1.analysis.simulation.replayed_account import ReplayedClass, replayed_account
from tb_privateuse1.analysis.simulation.scopes import Scope
from tb_privateuse1.analysis.simulation.submissions import Ranges
from tb_privateuse1.trace import intervals
from tb_privateuse1.trace.columns import lookup
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64, Bools


class Removal(Struct, frozen=True):
    """The work that a fix removes: host ranges, shares of activities, and waits.

    ``shares`` (0 to 1) has a share per row of ``kernels``, or one for all. Waits are those of the
    operators ``wait_ops`` and the calls ``wait_launches``. All are rows of the whole trace.
    """

    host: Ranges
    kernels: I64
    shares: Shares | float
    wait_ops: I64
    wait_launches: I64


class Gains(Struct, frozen=True):
    """The gain of all replayed steps together, the least and the greatest one."""

    gain_ns: int
    low_ns: int
    high_ns: int
    bounded: bool = True
    """The range is known: else it holds the gain alone."""


class RemovalReplay:
    """The replay of an excerpt, with more work removed at each call."""

    def __init__(self, whole: Trace, part: Excerpt, graph: Graph, apart: intervals.Set) -> None:
        net = without_profiler(whole, graph)
        self.is_net = net is not graph
        """Whether the profiler's time is known, and not replayed."""
        self._part, self._graph = part, net
        self._host: Ranges | None = None
        self._device = np.ones(len(whole.kernels))
        self._ops = np.zeros(len(whole.ops) + 1, np.bool_)
        self._launches = np.zeros(len(whole.launches) + 1, np.bool_)
        self._base = prediction.replay_baseline(part.trace, net, apart, profiled=not self.is_net)
        self._before = np.zeros(3, np.int64)

    def without(self, removal: Removal) -> Gains:
        """Return the additional gain of a removal in all steps together, and its range.

        Later calls include the removal. The range of an unknown error holds the gain alone.
        """
        self._host = removal.host if self._host is None else self._host.and_(removal.host)
        self._device[removal.kernels] *= 1 - removal.shares
        self._ops[removal.wait_ops] = True
        self._launches[removal.wait_launches] = True
        part, graph = self._part, self._graph
        weights = self._weights(self._host, self._device, self._ops, self._launches)
        found = prediction.predict_weights(part.trace, graph, self._base, weights).mean(part.steps)
        count = len(part.steps)
        low, high = (found.gain_ns if ns is None else ns for ns in (found.low_ns, found.high_ns))
        now = np.array([found.gain_ns, low, high]) * count
        gain, least, most = (now - self._before).tolist()
        self._before = now
        bounded = found.low_ns is not None and found.high_ns is not None
        return Gains(max(gain, 0), max(min(least, gain), 0), max(most, gain, 0), bounded)

    def account(self, removal: Removal | None = None) -> dict[ReplayedClass, int]:
        """Return the time of all replayed steps by class: unchanged, or with one removal alone.

        Earlier removals do not count: a reader may fix any finding first.
        """
        graph = self._graph
        if removal is None:
            time_ns = graph.network.replay(graph.weights) if self.is_net else graph.time_ns
            return replayed_account(
                self._part.trace, graph, time_ns, graph.weights.length, self._part.steps
            )
        device = np.ones(len(self._device))
        device[removal.kernels] *= 1 - removal.shares
        ops, launches = np.zeros_like(self._ops), np.zeros_like(self._launches)
        ops[removal.wait_ops] = True
        launches[removal.wait_launches] = True
        weights = self._weights(removal.host, device, ops, launches)
        return replayed_account(
            self._part.trace, graph, graph.network.replay(weights), weights.length, self._part.steps
        )

    def _weights(
        self, host: Ranges, device: NDArray[np.float64], ops: Bools, launches: Bools
    ) -> Weights:
        """Return the weights without these host ranges, shares of activities, and waits."""
        factors = scopes.Factors(self._graph)
        factors.scale(Scope(host, 1 - device[self._part.kernels]), 0)
        factors.freed = self._freed(ops, launches)
        return factors.weights()

    def _freed(self, ops: Bools, launches: Bools) -> Bools:
        """Return a flag per wait of the graph: it is removed."""
        waits = self._graph.waits
        # Rows of the excerpt to rows of the whole trace; the last entry stands for ``NONE``.
        op = lookup(ops[self._part.ops], waits.op, False)
        launch = lookup(launches[self._part.launches], waits.launch, False)
        freed: Bools = np.where(waits.launch >= 0, launch, op)
        return freed
