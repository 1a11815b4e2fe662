"""Idiom: gated activations, the activation of one product times another (SwiGLU, GeGLU).

N. Shazeer: "GLU variants improve transformer", 2020. vLLM and Liger have ``silu_and_mul``.
"""

from __future__ import annotations

from tb_privateuse1.analysis.idioms.idiom import ACTIVATIONS, Idiom, Members
from tb_privateuse1.trace.columns import following, starts_run
from tb_privateuse1.trace.table import I64, Bools


def recognizes(members: Members) -> Bools:
    """Return which chains multiply an activation's result, or its gradient."""
    backward = tuple(f"{name}_backward" for name in ACTIVATIONS)
    forward = members.links(ACTIVATIONS, ("mul",)) > 0
    found: Bools = forward | (_gradients(members, backward) > 0)
    # A polynomial around the activation is a formula such as that of GELU.
    return found & ~members.has("pow", "add", "sub")


def _gradients(members: Members, backward: tuple[str, ...]) -> I64:
    """Return by chain how many activations' gradients read one of two twin products.

    The gradient of a product is multiplied with each factor, by two equal calls in a row. A single
    product ahead of an activation's gradient is that of a square or of a scaled loss; twin ones in
    the gradient of anything else are a formula of autograd, as of a second derivative.
    """
    graph, links = members.graph, members.flow.links
    nodes = graph.nodes
    first = ~starts_run(nodes.thread, nodes.call)
    twin = (first | following(first, False)) & graph.named("mul") & members.of_products
    chosen = twin[links.writer] & graph.named(*backward)[links.reader]
    return members.number_in(members.chain[links.reader[chosen]])


IDIOM = Idiom("gate", recognizes)
