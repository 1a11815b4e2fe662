"""Python's full garbage collections, which a recording has as ranges without stacks, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.capture import read
from tests.support.on_device import device

SCRIPT = """
import gc
gc.disable()
with capture.profile({options} schedule=schedule(wait=0, warmup=1, active=2, repeat=1),
                     on_trace_ready=log("steps")) as prof:
    for _ in range(3):
        torch.ones(4) + 1
        gc.collect(0)
        gc.collect()
        prof.step()
    answer["left"] = len(gc.callbacks)
gc.collect()
"""


@pytest.mark.parametrize("options", ["", "with_stack=True,", "activities=[A.CPU],"])
def test_each_full_one_in_the_window_is_a_range(tmp_path: Path, options: str) -> None:
    done = device(tmp_path, SCRIPT.format(options=options))
    (trace,) = done.traces("steps")
    events = read(trace)["traceEvents"]
    found = [e for e in events if (e.get("cat"), e["name"]) == ("user_annotation", "Python GC")]
    assert len(found) == 2
    assert done.answer["left"] == 0
