"""Table of recorded waits for a device event, of streams and of the host."""

from __future__ import annotations

from tb_privateuse1.trace.table import LaneRow, LaunchRow, MaybeLaneRow, MaybeLaunchRow, Table


class EventWaits(Table, frozen=True):
    """Waits for a device event or a stream, as the profiler recorded them, by their calls.

    The work on ``awaited_lane`` that was launched before the call ``record`` (a row of
    ``Launches``) ends first; without that call, before the call ``launch`` that waits. Then the
    stream ``lane`` goes on, or if it is ``NONE`` the host.
    """

    launch: LaunchRow
    lane: MaybeLaneRow
    record: MaybeLaunchRow
    awaited_lane: LaneRow
