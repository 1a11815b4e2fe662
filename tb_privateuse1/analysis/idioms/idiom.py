"""An idiom: a chain of operators that one fused operator does, recognized by what it computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from tb_privateuse1.analysis.idioms.data_flow import Flow
from tb_privateuse1.analysis.idioms.nodes import Graph
from tb_privateuse1.trace.table import I64, Bools

ACTIVATIONS = (
    "silu", "gelu", "sigmoid", "tanh", "relu", "relu6", "elu", "selu", "celu", "mish", "hardswish",
    "hardsigmoid", "leaky_relu", "softplus", "threshold", "clamp_min", "hardtanh",
)  # fmt: skip
"""Reduced names of activations; relu is a clamp or a threshold in some versions of torch."""


class Members(Struct, frozen=True, eq=False):
    """The nodes of chains, to ask what each chain computes."""

    graph: Graph
    flow: Flow
    chain: I64
    """The chain of each node, -1 for none."""
    count: int
    of_products: Bools
    """The node is part of a product's gradient, or of nothing that autograd has linked."""

    def number(self, nodes: Bools) -> I64:
        """Return by chain how many of these nodes it has."""
        return self.number_in(self.chain[nodes])

    def number_of(self, *names: str) -> I64:
        """Return by chain how many nodes have one of these reduced names."""
        return self.number(self.graph.named(*names))

    def has(self, *names: str) -> Bools:
        """Return by chain whether it has one of these reduced names."""
        found: Bools = self.number_of(*names) > 0
        return found

    def links(self, writers: tuple[str, ...], readers: tuple[str, ...]) -> I64:
        """Return by chain how many results of the first names the second ones read."""
        graph, links = self.graph, self.flow.links
        chosen = graph.named(*writers)[links.writer] & graph.named(*readers)[links.reader]
        return self.number_in(self.chain[links.reader[chosen]])

    def number_in(self, chains: I64) -> I64:
        """Return by chain how often it is among these; -1 is none."""
        return np.bincount(chains[chains >= 0], minlength=self.count).astype(np.int64)


class Idiom(Struct, frozen=True):
    """A kind of chain; ``recognizes`` returns a flag per chain."""

    name: str
    recognizes: Callable[[Members], Bools]
