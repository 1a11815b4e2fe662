"""Types of columns: each integer is plain, or a row of a table, or an index of the strings.

``Maybe…`` columns hold ``NONE`` where there is no row. ``references`` maps rows by these types.
"""

from __future__ import annotations

from typing import Annotated

from tb_privateuse1.trace.table import I8, I32, I64, Plain, Rows

Code = Annotated[I8, Plain()]
Number = Annotated[I64, Plain()]
SmallNumber = Annotated[I32, Plain()]
Nanoseconds = Annotated[I64, Plain()]

Name = Annotated[I32, Rows("strings")]
MaybeText = Annotated[I32, Rows("strings", optional=True)]

ThreadRow = Annotated[I32, Rows("threads")]
MaybeThreadRow = Annotated[I32, Rows("threads", optional=True)]
OpRow = Annotated[I32, Rows("ops")]
MaybeOpRow = Annotated[I32, Rows("ops", optional=True)]
MaybeFrameRow = Annotated[I32, Rows("frames", optional=True)]
LaunchRow = Annotated[I32, Rows("launches")]
MaybeLaunchRow = Annotated[I32, Rows("launches", optional=True)]
LaneRow = Annotated[I32, Rows("lanes")]
MaybeLaneRow = Annotated[I32, Rows("lanes", optional=True)]
MaybeKernelRow = Annotated[I32, Rows("kernels", optional=True)]
MaybeConfigRow = Annotated[I32, Rows("configs", optional=True)]
MaybeCaptureRow = Annotated[I32, Rows("captures", optional=True)]
MaybeCapturedOpRow = Annotated[I32, Rows("captured_ops", optional=True)]
MaybeStepRow = Annotated[I32, Rows("steps", optional=True)]
SeriesRow = Annotated[I32, Rows("counter_series")]

OpRow64 = Annotated[I64, Rows("ops")]
StepRow64 = Annotated[I64, Rows("steps")]
ThreadRow64 = Annotated[I64, Rows("threads")]
MaybeThreadRow64 = Annotated[I64, Rows("threads", optional=True)]
