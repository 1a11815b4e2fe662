"""The interface of readers: what each offers, whatever the format of its files.

A listing of traces needs all formats, and reading needs one: a format's package declares it, and
imports the modules that read when they are called (``trace.registry.OnCall``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from tb_privateuse1.discovery.formats import Format
from tb_privateuse1.trace.findings import Figures

if TYPE_CHECKING:
    import msgspec

    from tb_privateuse1.readers.raw import Progress, Raw
    from tb_privateuse1.trace.file_checkpoints import Checkpoints


class Verbatim(Protocol):
    """The text of a file in Chrome trace JSON, for an export that adds events to it."""

    @property
    def keys(self) -> Mapping[str, msgspec.Raw]:
        """Return the top-level keys except the events, undecoded; complete after ``events``."""

    def events(
        self, select: Callable[[list[msgspec.Raw]], list[bool]] | None = None
    ) -> Iterator[bytes]:
        """Yield events as JSON text, several at once with commas between.

        ``select`` returns for some events which of them are wanted; None: all.
        """


class Processes(Struct, frozen=True):
    """How many processes may read one file, and what each does first, such as limiting itself."""

    count: int = 1
    prepare: Callable[[], None] | None = None


ALONE = Processes()


class Reader(Format, frozen=True, kw_only=True):
    """A format that can be read: one file of this room, or one folder."""

    read: Callable[[str, Progress | None], Raw]
    """Read a path or URL. Raises TraceError if it is not a trace or cannot be read.

    ``Raw.groups`` has the event numbers that ``record`` understands."""
    read_parallel: Callable[[str, Progress | None, Processes], Raw] | None = None
    """Read in several processes, with the same result; None: it has no such way."""
    record: Callable[[str, Checkpoints, int], Mapping[str, Any]]
    """Read one event again, by its number, with all fields that the file has of it.

    The checkpoints are those of ``Raw``. Raises TraceError ``no_event``, and as ``read`` does."""
    add: Callable[[Raw, str], Raw] | None = None
    """Add to a trace's events what another file beside it has, also to a trace of another format.

    Raises TraceError for a file that cannot be read: it is a finding."""
    affects: tuple[Figures, ...] = ()
    """The figures that lack such a file."""
    alter: Callable[[Raw], Raw] | None = None
    """Alter the trace with all that was added to it; None: it stays as it is."""
    has_memory: bool = True
    """Whether such files can have events of torch's memory allocator."""
    verbatim: Callable[[str], Verbatim] | None = None
    """Open a file of Chrome trace JSON; None: such a file's events cannot be copied as they are."""
