"""Write the figures of recordings as OpenMetrics, for monitoring of many machines.

The latest recording of each rank has one sample of each figure that it knows. All metrics are
gauges, so that a reader of Prometheus' older text format takes the same text.
Format: https://prometheus.io/docs/specs/om/open_metrics_spec/
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from tb_privateuse1.export import atomic_output
from tb_privateuse1.views.history import HistoryRow

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PREFIX = "tb_privateuse1_"

Value = int | float | None


class Metric(Struct, frozen=True):
    """A gauge: its name without prefix, unit, meaning, and what it takes of a recording."""

    name: str
    unit: str
    about: str
    value: Callable[[HistoryRow], Value]
    labels: Callable[[HistoryRow], Mapping[str, str | None]] = lambda _: {}


def _seconds(figure: str) -> Callable[[HistoryRow], Value]:
    def value(row: HistoryRow) -> Value:
        found = getattr(row, figure)
        return None if found is None else found / 1e9

    return value


def _figure(figure: str) -> Callable[[HistoryRow], Value]:
    def value(row: HistoryRow) -> Value:
        found: Value = getattr(row, figure)
        return found

    return value


METRICS = (
    Metric(
        "recording_info", "", "The latest recording of the rank, with its device and timeline.",
        lambda _: 1, lambda row: {"device": row.device, "timeline": row.timeline},
    ),
    Metric("recording_written_seconds", "seconds", "Unix time of the file's last change.",
           _seconds("written_ns")),
    Metric("step_seconds", "seconds", "Mean duration of the complete steps.", _seconds("step_ns")),
    Metric("step_error_seconds", "seconds", "How far off that may be; 0 if it is measured.",
           _seconds("step_bound_ns")),
    Metric("step_deviation_seconds", "seconds", "Standard deviation between the steps.",
           _seconds("deviation_ns")),
    Metric("steps", "", "Complete steps of the recording.", _figure("steps")),
    Metric("utilization_ratio", "ratio", "Busy device time as a share of the steps.",
           _figure("utilization")),
    Metric("mfu_ratio", "ratio", "Model FLOPs utilization of the complete steps.", _figure("mfu")),
    Metric("memory_peak_bytes", "bytes", "Most bytes allocated on the device.",
           _figure("memory_peak_bytes")),
    Metric("top_issue_ratio", "ratio", "What the greatest finding would save, as a share.",
           _figure("saving_share"), lambda row: {"rule": row.rule}),
)  # fmt: skip
"""In the order of the text."""

_WAITING = Metric("recordings_waiting", "", "Recordings that are still to be read.", lambda _: None)
_FAILED = Metric("recordings_failed", "", "Recordings that cannot be read.", lambda _: None)


def write(rows: Iterable[HistoryRow], *, waiting: int) -> str:
    """Return the text: of each run and rank the latest recording that is read.

    ``rows`` are in order of time; ``waiting`` is the number of recordings that are not read yet.
    """
    latest: dict[tuple[str, int], HistoryRow] = {}
    failed = 0
    for row in rows:
        failed += row.state == "failed"
        if row.state == "read":
            latest[row.run, row.rank] = row
    shown = [latest[place] for place in sorted(latest)]
    lines: list[str] = []
    for metric in METRICS:
        lines += _family(metric, shown)
    for metric, count in ((_WAITING, waiting), (_FAILED, failed)):
        lines += [*_head(metric), f"{PREFIX}{metric.name} {count}"]
    return "\n".join([*lines, "# EOF", ""])


def save(path: str, text: str) -> None:
    """Write the text to a file, gzipped if it ends in ``.gz``. Raises TraceError ``unwritable``."""
    atomic_output.save(path, (text.encode(),))


def _family(metric: Metric, rows: Sequence[HistoryRow]) -> list[str]:
    samples = [
        f"{PREFIX}{metric.name}{_labels(row, metric)} {value!r}"
        for row in rows
        if (value := metric.value(row)) is not None
    ]
    return [*_head(metric), *samples] if samples else []


def _head(metric: Metric) -> Iterator[str]:
    name = f"{PREFIX}{metric.name}"
    yield f"# TYPE {name} gauge"
    if metric.unit:
        yield f"# UNIT {name} {metric.unit}"
    yield f"# HELP {name} {metric.about}"


def _labels(row: HistoryRow, metric: Metric) -> str:
    given = {"run": row.run, "rank": str(row.rank), **metric.labels(row)}
    parts = (f'{name}="{_escaped(value)}"' for name, value in given.items() if value is not None)
    return "{" + ",".join(parts) + "}"


def _escaped(text: str) -> str:
    plain = text.encode("utf-8", "replace").decode()
    return plain.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
