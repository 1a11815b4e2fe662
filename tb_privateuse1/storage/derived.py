"""Cache data derived from a trace: computed on first use, kept while memory lasts.

What computes it is imported then, too: most views use little of it, or none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace

if TYPE_CHECKING:
    from tb_privateuse1.analysis.counters.curves import Curve
    from tb_privateuse1.analysis.simulation import path_classes
    from tb_privateuse1.analysis.timeline import level_of_detail
    from tb_privateuse1.trace.table import I64


class DerivedData:
    """Data by the names of the views' positional parameters; each is computed on first use."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @property
    def pyramid(self) -> level_of_detail.Pyramid:
        """Return its rectangles at several levels of detail."""
        return _pyramid(self.trace)

    @property
    def curves(self) -> tuple[Curve, ...]:
        """Return its counters over time."""
        return _curves(self.trace)

    @property
    def names(self) -> I64:
        """Return the number of ranges named by each of its strings."""
        return _names(self.trace)

    @property
    def critical(self) -> path_classes.Path:
        """Return the critical path of its steps."""
        return _critical(self.trace)


@memoize
def _pyramid(trace: Trace) -> level_of_detail.Pyramid:
    from tb_privateuse1.storage import pyramid_file

    return pyramid_file.open_pyramid(trace)


@memoize
def _curves(trace: Trace) -> tuple[Curve, ...]:
    from tb_privateuse1.analysis.counters import counters

    return counters.build_curves(trace)


@memoize
def _names(trace: Trace) -> I64:
    from tb_privateuse1.analysis.timeline import appearance

    return appearance.name_counts(trace)


@memoize
def _critical(trace: Trace) -> path_classes.Path:
    from tb_privateuse1.analysis.simulation import critical_path, dependency_graph

    return critical_path.find_critical_path(trace, dependency_graph.build_graph(trace))
