"""Data derived from a trace: computed on first use, cached while memory lasts."""

from __future__ import annotations

from tb_privateuse1.analysis.counters import counters
from tb_privateuse1.analysis.counters.curves import Curve
from tb_privateuse1.analysis.simulation import critical_path, dependency_graph, path_classes
from tb_privateuse1.analysis.timeline import appearance, level_of_detail
from tb_privateuse1.storage import pyramid_file
from tb_privateuse1.trace.memoize import memoize
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.trace.table import I64


class DerivedData:
    """Data by the names of the views' positional parameters."""

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
    def dependencies(self) -> dependency_graph.Graph:
        """Return its dependency graph."""
        return _dependencies(self.trace)

    @property
    def critical(self) -> path_classes.Path:
        """Return the critical path of its steps."""
        return _critical(self.trace)


def derive(trace: Trace) -> DerivedData:
    """Return the data derived from a trace; each part is computed on first use."""
    return DerivedData(trace)


@memoize
def _pyramid(trace: Trace) -> level_of_detail.Pyramid:
    return pyramid_file.open_pyramid(trace)


@memoize
def _curves(trace: Trace) -> tuple[Curve, ...]:
    return counters.build_curves(trace)


@memoize
def _names(trace: Trace) -> I64:
    return appearance.name_counts(trace)


@memoize
def _dependencies(trace: Trace) -> dependency_graph.Graph:
    return dependency_graph.build_graph(trace)


@memoize
def _critical(trace: Trace) -> path_classes.Path:
    return critical_path.find_critical_path(trace, _dependencies(trace))
