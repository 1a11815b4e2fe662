"""Words of Perfetto's traces that our export writes and the reader reads.

Numbers are from the published schema:
https://github.com/google/perfetto/tree/main/protos/perfetto/trace
"""

from __future__ import annotations

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
"""Values of ``TrackEvent.type``."""
OTHER, GRAPHICS, COMPUTE = 0, 1, 2
"""Values of ``InternedGpuRenderStageSpecification.category``."""
REALTIME, BOOTTIME = 1, 6
"""Clocks: of the day, and the one that timestamps have by default."""
CLEARED, NEEDS = 1, 2
"""Flags of a packet: the sequence's interned names begin anew; it uses such names."""

CATEGORIES = ("operator", "annotation", "frame", "runtime", "step")
"""Categories of our slices."""
ARGUMENTS = ("External id", "Python id", "correlation", "Input shapes", "Input types")
"""Arguments of our slices."""
