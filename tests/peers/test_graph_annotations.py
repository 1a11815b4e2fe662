"""What torch's own function writes of a graph's annotations into a trace is what is read."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from torch.cuda._annotate_cuda_graph_trace import annotate_trace

from tests.support import make
from tests.unit.inference.test_graph_annotations import GRAPH, NODE, merged, replays
from tests.unit.inference.test_graph_captures import paths

ANNOTATIONS: dict[int, Any] = {
    1: {"module_fqn": "layers.0.attention.wq"},
    2: {"name": "mlp", "stream": 61},
    3: {"str": "head"},
    4: "sampler",
}
"""As torchtitan, torch's tutorial, ``mark_kernels`` of torch 2.13 with text, and before it."""


@pytest.mark.parametrize("chosen", [[1], [2, 3], [1, 2, 3, 4]])
def test_annotations_of_torch(chosen: list[int]) -> None:
    nodes = {node: ANNOTATIONS[node] for node in chosen}
    events = replays("gemm", "gelu", "gemm", "argmax", "copy")
    theirs = make.document(*copy.deepcopy(events))
    written = annotate_trace(theirs, {GRAPH + node: [one] for node, one in nodes.items()})
    assert written == 2 * len(chosen)
    ours = merged(events, nodes)

    def arguments(found: list[Any]) -> list[dict[str, str]]:
        kernels = (event["args"] for event in found if event.get("args", {}).get(NODE))
        return [
            {key: value for key, value in args.items() if key not in ("stream", "tid")}
            for args in kernels
        ]

    assert arguments(theirs["traceEvents"]) == arguments(ours)
    ours_read, theirs_read = (paths(make.trace(*found)) for found in (ours, theirs["traceEvents"]))
    assert theirs_read == ours_read
    assert sum(map(bool, theirs_read)) == 2 * len(chosen)
