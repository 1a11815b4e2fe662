"""The profiler: torch's, with the device's times by the best route that the machine offers."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from torch.autograd.profiler import record_function
from torch.profiler.profiler import ProfilerAction
from torch.profiler.profiler import profile as torch_profile

from tb_privateuse1.capture import backend, output_files, replacement
from tb_privateuse1.capture.accuracy import known_class
from tb_privateuse1.capture.calibration.calibration import Calibration, calibrate
from tb_privateuse1.capture.calibration.queue_costs import plant_test
from tb_privateuse1.capture.garbage_collections import GarbageCollections
from tb_privateuse1.capture.limits.limits import MOST_EVENTS, Limits, Unit
from tb_privateuse1.capture.limits.process_use import MEMORY_PAGES, MemoryPages, host
from tb_privateuse1.capture.limits.window_limits import WindowLimits
from tb_privateuse1.capture.native_probe import has_device_activity
from tb_privateuse1.capture.output_files import sidecar_path
from tb_privateuse1.capture.priming import MOST_MS, Primer
from tb_privateuse1.capture.route import Plan, Wanted, choose, settle
from tb_privateuse1.capture.sessions import is_recorded
from tb_privateuse1.capture.sidecar import build
from tb_privateuse1.capture.step_markers import StepMarkers
from tb_privateuse1.capture.step_times import FACTS, StepTimes
from tb_privateuse1.capture.thread_times import ThreadTimes
from tb_privateuse1.capture.torch_threads import TORCH_THREADS, torch_threads
from tb_privateuse1.capture.user_source import KEY as FUNCTIONS
from tb_privateuse1.capture.user_source import user_functions
from tb_privateuse1.capture.warnings import Notes
from tb_privateuse1.capture.window_options import MemorySnapshot, WindowOptions

WINDOW_START = "tb_privateuse1::window_start"
"""The annotation around the synchronization before the first recorded step."""
WINDOW_END = "tb_privateuse1::window_end"
"""The annotation around the synchronization after the last recorded step."""
CLOCK = "tb_privateuse1::clock"
"""Empty annotations behind both: an idle device executes their events at once."""
_CLOCK_READS = 8
"""The first ones are late, as code and data are not in the caches yet; two more are enough."""
METADATA = "tb_privateuse1"
"""The key in the trace under which backend, route and warnings stand."""


class DeviceProfiler(torch_profile):
    """torch's profiler, by the route that records the device; what ``profile`` guards."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        route: Wanted = "auto",
        prime_ms: float | Literal["auto"] | None = None,
        max_events: float | None = MOST_EVENTS,
        max_bytes: float | Literal["auto"] | None = "auto",
        max_seconds: float | None = None,
        shapes_every: int | None = None,
        stacks_every: int | None = None,
        memory_snapshot: bool = False,
        **options: Any,
    ) -> None:
        if prime_ms is not None and prime_ms != "auto" and not 0 <= float(prime_ms) <= MOST_MS:
            raise ValueError(f"prime_ms must be auto or 0 to {MOST_MS:g}, not {prime_ms!r}")
        self.notes = Notes()
        self._cycle = Notes()
        self._calibration = Calibration()
        self._plan = self._choose(None if activities is None else list(activities), route)
        self.route = self._plan.route
        self.backend = backend.backend_name()
        self._prime_ms = prime_ms
        self._fresh = False
        self._primer = Primer(self.backend, self.notes)
        self._launches = backend.LaunchLog(self.backend)
        self._markers = StepMarkers(self.backend)
        self._times = StepTimes()
        self._threads = ThreadTimes()
        self._collections = GarbageCollections()
        self._pages = MemoryPages()
        self._memory_wanted = options.get("profile_memory")
        self._limits = WindowLimits(Limits(max_events, max_bytes, max_seconds))
        self._options = WindowOptions(shapes_every, stacks_every)
        self._snapshot = MemorySnapshot(memory_snapshot)
        super().__init__(activities=self._plan.activities, **options)
        self._has_steps = self.record_steps
        self._self_test: list[list[int]] = []
        self._limits.attach(self)
        self._take_route()

    def _take_route(self) -> None:
        """Set what depends on the route, and show what was noted about it."""
        self.route = self._plan.route
        if self._memory_wanted is None:
            # Who allocated on the host only launched nothing: that is evidence for the timeline.
            self.profile_memory = self.route == "events"
        if self._prime_ms is not None and self.route != "events" and not self._plan.open:
            self.notes.add("prime-unused", f"in the route {self.route!r} nothing is primed")
        self.notes.show()

    @property
    def stopped_by(self) -> Unit | None:
        """The limit that ended the last window: ``events``, ``bytes``, ``seconds``, or None."""
        return self._limits.stopped_by

    def _choose(self, activities: list[Any] | None, route: Wanted) -> Plan:
        try:
            return choose(activities, route, self.notes, replacement.stands_in(self))
        except ValueError:  # of the caller's arguments
            raise
        except Exception as error:
            self.notes.add(
                "route-failed",
                "the backend could not be asked how to record it, only the host is recorded: "
                f"{type(error).__name__}: {error}",
            )
            return Plan("torch", activities, device=False, reason="the backend raised")

    def prepare_trace(self) -> None:
        """Prepare a cycle; in the event route, for the state in which torch calls the stubs.

        Given no device, torch prepares for the CPU alone, as that state wants it, and reads the
        state itself only when the recording starts. So nothing of torch is replaced, and no other
        profiler of the process is touched.
        """
        self._cycle = Notes(shown=self._cycle.shown)
        self._options.apply(self)
        if self._plan.open:
            self._plan = settle(self._plan, self.notes)
            self._take_route()
        if self.route != "events":
            if self._plan.activities is None and self.backend != backend.backend_name():
                self.notes.add(
                    "backend-late",
                    f"the backend {backend.backend_name()!r} was imported after the profiler was "
                    "made, only the host is recorded",
                )
            super().prepare_trace()
            return
        self._calibration = calibrate(self.backend)
        if self._prime_ms is not None:
            self._primer.prepare()
        self.use_device = None
        try:
            super().prepare_trace()
        finally:
            self.use_device = self.backend
        inner: Any = self.profiler
        inner.profiler_kind = backend.FALLBACK
        inner.use_device = self.backend

    def start_trace(self) -> None:
        """Start recording; name backend and rank, and wait for what was queued before."""
        self._limits.start(self, self._cycle)  # not while Python's calls are recorded
        host()
        functions = user_functions() if self.with_stack else None
        super().start_trace()
        if functions is not None:
            self.add_metadata_json(FUNCTIONS, functions)
        self._fresh = True
        self._tag()
        self._collections.start()
        self._snapshot.start(self.use_device, self.notes)
        if self.route == "events":
            self._synchronize(WINDOW_START)
            self._markers.start(self._cycle)
            self._launches.start(self._cycle)
            self._threads.start()
        self._pages.start()

    def stop_trace(self) -> None:
        """Wait for what the recording launched, then stop recording.

        Some versions of torch, and all with ``acc_events``, build their tables here, which fails
        as a whole if one row's device time cannot be read.
        """
        self._pages.stop()
        self._collections.stop()
        if self.route == "events":
            self._threads.stop()
        self._limits.stop()  # a thread of its own ends
        self._add_costs()
        if self.route != "events":
            super().stop_trace()
            return
        self._synchronize(WINDOW_END)
        # Without steps it would be in what is judged.
        self._self_test = plant_test(self.backend) if self._has_steps else []
        self._launches.stop(self._cycle)
        self._markers.stop(self._cycle)
        try:
            super().stop_trace()
        except Exception as error:
            if is_recorded():
                raise  # it has not even stopped
            self._cycle.add("tables-failed", f"torch could not build its tables: {error}")
        finally:
            self._primer.release()

    def start(self) -> None:
        """Start; ``open_step`` follows."""
        self._limits.resume(self)
        with self._without_ranges():
            super().start()
        self._primer.stepped()
        self._pages.begin_step()
        self._times.begin()

    def step(self) -> None:
        """Tell that a step has ended, as in torch."""
        self.close_step()
        self.advance()
        self.open_step()

    def close_step(self) -> None:
        """End the range of the step, before anything else is done or called."""
        if self._primer.busy:
            self._primer.finish()
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def advance(self) -> None:
        """Go on to the next step, between the ranges of the two."""
        self._times.end(self.current_action)
        self._pages.end_step(self.current_action)
        self._primer.stepped()
        self._markers.mark(self._cycle)
        self._limits.end_step(self, self._cycle)
        with self._without_ranges():
            super().step()
        self._pages.begin_step()
        self._times.begin()

    @contextmanager
    def _without_ranges(self) -> Iterator[None]:
        """Let torch open no range of a step: it would hold what is done here between two steps."""
        wanted, self.record_steps = self.record_steps, False
        try:
            yield
        finally:
            self.record_steps = wanted

    def open_step(self) -> None:
        """Begin the range of the step, unless it is open; prime the first one of a cycle."""
        if self.record_steps and self.step_rec_fn is None:
            step: Any = record_function(f"ProfilerStep#{self.step_num}")
            # Kept once begun: a signal may come between.
            self.step_rec_fn = step.__enter__()
        if self._fresh and self._prime_ms == "auto":
            self._prime(self._primer.prime_behind_waits)
        elif self._fresh and self._prime_ms:
            self.prime(float(self._prime_ms))
        self._fresh = False

    def prime(self, ms: float | None = None) -> None:
        """Keep the device busy from here on for ``ms``; None: twice as long as the last step took.

        Where a step waits for the device, call it right behind that. It needs ``prime_ms``, and
        does nothing outside the event route and while nothing is recorded.
        """
        self._prime(lambda step: self._primer.prime(step, ms))

    def _prime(self, prime: Callable[[str | None], None]) -> None:
        if self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            prime(f"ProfilerStep#{self.step_num}" if self.record_steps else None)

    def export_chrome_trace(self, path: str, *args: Any, **options: Any) -> Any:
        """Write the last cycle's trace as torch does; in the event route its sidecar beside it.

        So a handler that knows nothing of sidecars, such as a framework's, leaves device times.
        Raises what torch raises; a sidecar that cannot be written is a warning.
        """
        to = sidecar_path(path)
        value = device_part(self)
        if value is not None:  # first, as a reader looks for traces
            try:
                output_files.write_json(to, value)
            except OSError as error:
                self.notes.renew(*output_files.describe(error, to))
        try:
            written = self.export_trace(path, *args, **options)
            self.write_snapshot(Path(path))
            return written
        except BaseException:
            if value is not None:
                to.unlink(missing_ok=True)
            raise
        finally:
            self._show()

    def write_snapshot(self, trace: Path) -> None:
        """Write the memory snapshot of the last cycle beside its trace, if there is one."""
        self._snapshot.write(trace, self.notes)

    def export_trace(self, path: str, *args: Any, **options: Any) -> Any:
        """Write the last cycle's trace alone, as torch does."""
        return super().export_chrome_trace(path, *args, **options)

    def export_sidecar(self, path: str | os.PathLike[str]) -> None:
        """Write the last cycle's sidecar; ``sidecar_path`` says where it belongs.

        Raises ValueError outside the event route and OSError where it cannot be written.
        """
        value = self.sidecar()
        if value is None:
            raise ValueError(f"there is no sidecar in the route {self.route!r}")
        output_files.write_json(Path(path), value)

    def sidecar(self) -> dict[str, Any] | None:
        """The last cycle's device times as they are written, or None outside the event route."""
        inner: Any = self.profiler
        if self.route != "events" or inner is None or inner.kineto_results is None:
            return None
        own = {
            "accuracy": known_class(self.backend),  # a trace that is cut or merged loses its own
            "primed": self._primer.done,
            "launches": self._launches.columns,
            "markers": self._markers.columns,
            "self_test": self._self_test,
            **self._threads.facts(self.experimental_config),
        }
        return build(inner, self.backend, self._calibration, own, self.notes, self._cycle)

    def _trace_ready(self) -> None:
        try:
            super()._trace_ready()
        except Exception as error:
            self.notes.renew(
                "handler-failed", f"on_trace_ready raised {type(error).__name__}: {error}"
            )
        self._snapshot.stop(self.notes)
        self._show()

    def _show(self) -> None:
        self.notes.show()
        self._cycle.show()

    def _tag(self) -> None:
        rank, world_size = backend.rank_and_world_size()
        # torch itself writes this key, with more in it, once the process group exists.
        if rank is not None and not backend.has_process_group():
            info = {"backend": "", "rank": rank, "world_size": world_size}
            self.add_metadata_json("distributedInfo", json.dumps(info))
        self.add_metadata_json(TORCH_THREADS, json.dumps(torch_threads(world_size)))
        if self._plan.device:
            about = {
                "backend": self.backend,
                "route": self.route,
                "reason": self._plan.reason,
                "accuracy": known_class(self.backend),
                "warnings": self.notes.as_json(),
            }
            self.add_metadata_json(METADATA, json.dumps(about))

    def _add_costs(self) -> None:
        """Say in the trace what steps took, in time and in pages, while that can be added."""
        if self._pages.facts is not None:
            self.add_metadata_json(MEMORY_PAGES, json.dumps(self._pages.facts))
        costs = self._times.take()
        if costs is not None and self._plan.device:
            self.add_metadata_json(FACTS, json.dumps(costs))

    def _synchronize(self, name: str) -> None:
        with record_function(name):
            try:
                backend.synchronize()
            except Exception as error:
                self.notes.add(
                    "no-synchronize", f"the window's edges are not exact, waiting failed: {error}"
                )
                return
        if backend.tells_event_times():
            for _ in range(_CLOCK_READS):
                with record_function(CLOCK):
                    pass


def device_part(prof: DeviceProfiler) -> dict[str, Any] | None:
    """The sidecar, if there is one to write; whatever happens must not cost the trace."""
    try:
        if prof.route == "native" and not has_device_activity(prof):
            prof.notes.add(
                "native-empty",
                "the backend's Kineto profiler recorded nothing of the device; if the backend has "
                'ProfilerStubs, try route="events"',
            )
        return prof.sidecar()
    except Exception as error:
        prof.notes.renew(
            "sidecar-failed", f"the device times were not read: {type(error).__name__}: {error}"
        )
        return None
