"""``tb_privateuse1.open``: the views' results in Python, for notebooks and scripts.

import tb_privateuse1 as tbp

log = tbp.open("./log")
log.runs                                # runs, workers, ranks, spans
log.overview().totals.busy_ns           # a view: the first run, lowest rank, latest span
log.kernels(run="exp1", rank=3, step=5).rows
log.kernels().to_arrow()                # a table as Arrow; to_pandas() where pandas is installed
log.overview().to_pandas("steps")       # another table than the main one; .tables names them
log.diff(rank=0, base=tbp.Selection("baseline"))
log.trace(rank=3).kernels.start_ns      # the columns themselves, as numpy arrays
log.event("kernels", 5).record          # all that the file has of one event, as JSON
log.report("report.html", rank=3)       # one file to pass on
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from tb_privateuse1 import readers
from tb_privateuse1.advice import user_rules
from tb_privateuse1.discovery import catalog
from tb_privateuse1.storage.event_record import EventRecord, read_record
from tb_privateuse1.storage.store import Store
from tb_privateuse1.trace.findings import TableName
from tb_privateuse1.trace.model import Trace
from tb_privateuse1.vendors import user_file
from tb_privateuse1.views import user_models
from tb_privateuse1.views.methods import ViewMethods
from tb_privateuse1.views.reader import Reader
from tb_privateuse1.views.request import Request, Selection, parse_options

__all__ = ["Log", "Selection", "open_log"]


class Log(ViewMethods):
    """A logdir, a run or one trace. Each view is a method of its name.

    Its keywords are ``run``, ``rank`` and ``span`` (by default the first, the lowest, the latest)
    and the view's own; ``base`` is the Selection of the trace to compare with. Raises TraceError
    for what does not exist or cannot be read.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._store = Store(jobs=0, vendors=user_file.load_vendors())
        self._catalog = catalog.scan(self._path, readers.READERS)
        user_models.use_from_environment()
        rules = user_rules.from_environment().load
        self._reader = Reader(self._store, self._catalog, rules)

    @property
    def runs(self) -> catalog.Runs:
        """Return the runs, workers, ranks and spans of the path."""
        return self._catalog.runs

    def reload(self) -> None:
        """Look for new traces."""
        self._catalog = self._reader.source.catalog = catalog.scan(self._path, readers.READERS)

    def trace(
        self, run: str | None = None, rank: int | None = None, span: int | None = None
    ) -> Trace:
        """Return one trace's tables."""
        return self._store.trace(self._catalog.find(run, rank, span))

    def event(
        self,
        table: TableName,
        row: int,
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
    ) -> EventRecord:
        """Return one event, a row of ``ops``, ``frames``, ``launches``, ``kernels`` or ``memory``.

        Its ``record`` is JSON, exactly as in the file.
        """
        options = parse_options(read_record, {"table": table, "row": str(row)})
        request = Request(read_record, Selection(run, rank, span), options=options)
        event: EventRecord = self._reader.run(request)
        return event

    def report(
        self,
        path: str | os.PathLike[str],
        run: str | None = None,
        rank: int | None = None,
        span: int | None = None,
        language: Literal["en", "zh"] = "en",
    ) -> None:
        """Write one trace's report: HTML, or Markdown in English if the path ends in ``.md``.

        Raises TraceError.
        """
        # Not with the module: a notebook without reports need not wait for the exports.
        from tb_privateuse1.export.reports import summary
        from tb_privateuse1.export.reports.html import contents, document

        command = f"tb_privateuse1.open({self._path!r}).report(…)"
        selection = Selection(run, rank, span)
        found = contents.trace_report(self._reader, self._catalog, selection, command)
        out = Path(path)
        if out.suffix.lower() == ".md":
            out.write_text(summary.markdown(found), "utf-8")
        else:
            out.write_bytes(document.document(self._reader, found, language))

    def __repr__(self) -> str:
        return f"<{self.runs.logdir}: {', '.join(run.run for run in self.runs.runs) or 'no runs'}>"


def open_log(path: str | os.PathLike[str]) -> Log:
    """Open a logdir, a run or one trace file.

    Raises TraceError if there is no such path, or ``bad_vendor``.
    """
    return Log(path)
