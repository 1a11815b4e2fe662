"""Ask the backend when the host launched what, where its module can tell.

A backend tells it by two functions of its module, ``start_launch_log`` and ``stop_launch_log``
(docs/guide/capture.md, Launches). Nothing in torch's results does.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from tb_privateuse1.capture.warnings import Notes

_COLUMNS = ("host_ns", "thread", "device", "stream")


@dataclass
class LaunchLog:
    """The launches of one cycle: columns of equal length, or None if the backend cannot tell."""

    backend: str
    columns: dict[str, list[int]] | None = None
    _on: bool = False

    def start(self, notes: Notes) -> None:
        """Forget the last cycle, and let the backend log from now on."""
        self.columns, self._on = None, False
        module = getattr(torch, self.backend, None)
        if not (hasattr(module, "start_launch_log") and hasattr(module, "stop_launch_log")):
            return
        try:
            module.start_launch_log()  # type: ignore[union-attr]
            self._on = True
        except Exception as error:
            _failed(notes, error)

    def stop(self, notes: Notes) -> None:
        """Take over what was logged."""
        if not self._on:
            return
        self._on = False
        try:
            lists = list(getattr(torch, self.backend).stop_launch_log())
            if len(lists) != len(_COLUMNS):
                raise ValueError(f"it returned {len(lists)} lists, not {len(_COLUMNS)}")
            columns = dict(zip(_COLUMNS, ([int(value) for value in one] for one in lists)))
            if len({len(values) for values in columns.values()}) != 1:
                raise ValueError("its lists are not of one length")
            self.columns = columns
        except Exception as error:
            _failed(notes, error)


def _failed(notes: Notes, error: Exception) -> None:
    notes.add(
        "launches-failed",
        f"the launch log of the backend failed, launches are inferred: "
        f"{type(error).__name__}: {error}",
    )
