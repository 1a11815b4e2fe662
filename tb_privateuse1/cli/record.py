"""``record``: ask a running job for a recording, and wait for its traces."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict, replace

from tb_privateuse1.cli.commands import COMMANDS, UsageError, add_command, write
from tb_privateuse1.cli.completion import running_jobs
from tb_privateuse1.cli.progress import Line

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands
    from tb_privateuse1.discovery.live_jobs import RecordingJob
    from tb_privateuse1.discovery.recording_request import (
        RecordingOptions,
        RecordingRequest,
        RequestProgress,
    )
    from tb_privateuse1.trace.findings import Finding

_POLL_S = 0.5
_TIMEOUT_S = 600.0
_MOST_LISTED = 20


def add(commands: Commands) -> None:
    """Add the command."""
    record = add_command(
        commands,
        "record",
        _record,
        COMMANDS["record"],
        "./log --steps 5 --ranks 0,3-5",
    )
    record.add_argument("path", metavar="LOGDIR", help="where the job records, on this machine")
    record.add_argument("--list", action="store_true", help="list the running jobs only")
    job = record.add_argument("--job", metavar="NAME", help="as listed, if several are running")
    job.completer = running_jobs  # type: ignore[attr-defined]
    record.add_argument("--steps", type=int, metavar="N", default=3, help="to record; 3 by default")
    record.add_argument(
        "--warmup", type=int, metavar="N", default=1, help="steps before that; 1 by default"
    )
    record.add_argument("--ranks", metavar="LIST", help="such as 0,3-5; all by default")
    for name, what in (
        ("shapes", "shapes of operators' inputs"),
        ("stacks", "Python frames"),
        ("memory", "events of the allocator"),
    ):
        record.add_argument(
            f"--{name}",
            action=argparse.BooleanOptionalAction,
            help=f"{what}; as the job was configured by default",
        )
    record.add_argument("--replace", action="store_true", help="take a pending request's place")
    record.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        default=_TIMEOUT_S,
        help="seconds to wait for the traces; 600 by default",
    )
    record.add_argument("--json", action="store_true", help="the same for a program")


def _record(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery import live_jobs, recording_request
    from tb_privateuse1.trace.errors import TraceError

    asked = _options(options)
    warnings: list[Finding] = []
    places = live_jobs.find_places([("", options.path)], warnings)
    jobs = live_jobs.read_jobs(places, time.time_ns(), warnings)
    if not places:
        for finding in warnings:
            raise TraceError(finding.code, finding.message, finding.hint)
    if not options.json:
        for finding in warnings:
            _say(finding.message)
    if options.list:
        return _list(jobs, as_json=options.json)
    job = recording_request.pick_job(jobs, options.job, time.time_ns())
    try:
        request = recording_request.ask(
            job,
            asked,
            by="command line",
            now_ns=time.time_ns(),
            timeout_s=options.timeout,
            replace=options.replace,
        )
    except TraceError as error:
        if error.code != "record_pending":
            raise
        hint = "Wait for it, or give --replace."
        raise TraceError(error.code, error.message, hint) from error
    try:
        result = _followed(job, request, options.timeout)
    except KeyboardInterrupt:
        recording_request.withdraw(job, request.id)
        raise KeyboardInterrupt("the request was withdrawn") from None
    # It is not for a process that starts later.
    with contextlib.suppress(TraceError):
        recording_request.withdraw(job, request.id)
    return _report(job, result, as_json=options.json)


def _options(options: argparse.Namespace) -> RecordingOptions:
    from tb_privateuse1.discovery.recording_request import parse_options, parse_ranks

    if not 1 <= options.timeout <= 24 * 3600:
        raise UsageError("--timeout is from 1 to 86400 seconds")
    keys = ("steps", "warmup", "shapes", "stacks", "memory")
    document = {key: getattr(options, key) for key in keys}
    try:
        if options.ranks is not None:
            document["ranks"] = parse_ranks(options.ranks)
        return parse_options(document)
    except ValueError as error:
        raise UsageError(f"{error} (see {options.parser.prog} --help)") from error


def _list(jobs: Sequence[RecordingJob], *, as_json: bool) -> int:
    from tb_privateuse1.i18n.units import plain_text
    from tb_privateuse1.views.encoding import encode

    now_ns = time.time_ns()
    running = [job for job in jobs if job.alive(now_ns)]
    if as_json:
        listed = [
            {"job": job.name, "processes": [asdict(p) for p in job.alive(now_ns)]}
            for job in running
        ]
        write(encode(listed))
        return 0 if running else 1
    for job in running:
        print(plain_text(f"{job.name}: {len(job.alive(now_ns)):,} processes"))
        for process in job.alive(now_ns)[:_MOST_LISTED]:
            rank = "-" if process.rank is None else process.rank
            line = f"  rank {rank}  {process.state}, step {process.step:,}  {process.worker}"
            print(plain_text(line))
        if len(job.alive(now_ns)) > _MOST_LISTED:
            print(f"  and {len(job.alive(now_ns)) - _MOST_LISTED:,} more")
    if not running:
        _say("No running job can be asked here.")
    return 0 if running else 1


def _followed(job: RecordingJob, request: RecordingRequest, timeout_s: float) -> RequestProgress:
    """Return the progress at the end, or after the timeout; it is shown in the meantime."""
    from tb_privateuse1.discovery import live_jobs, recording_request

    place = live_jobs.JobPlace(job.name, job.directory)
    end_s = time.monotonic() + timeout_s
    shown = ""
    with Line(sys.stderr).open() as line:
        while True:
            now_ns = time.time_ns()
            jobs = live_jobs.read_jobs([place], now_ns)
            current = jobs[0] if jobs else replace(job, processes=())
            now = recording_request.progress(
                current, request.id, recording_request.read_request(current), now_ns
            )
            if (text := _summary(now)) != shown:
                line.note(text)
                shown = text
            if now.is_done or time.monotonic() >= end_s:
                return now
            time.sleep(_POLL_S)


def _summary(now: RequestProgress) -> str:
    """Return the progress in one line: how many ranks are in each phase."""
    counts = Counter(rank.phase for rank in now.ranks)
    written = counts.pop("written", 0)
    others = [f"{count:,} {phase}" for phase, count in counts.most_common()]
    return ", ".join([f"{written:,} of {len(now.ranks):,} ranks written", *others])


def _report(job: RecordingJob, result: RequestProgress, *, as_json: bool) -> int:
    from tb_privateuse1.discovery.file import printable
    from tb_privateuse1.i18n.units import plain_text
    from tb_privateuse1.views.encoding import encode

    complete = bool(result.ranks) and all(rank.phase == "written" for rank in result.ranks)
    if as_json:
        write(encode({"job": job.name, **asdict(result)}))
        return int(not complete)
    for rank in result.ranks:
        if rank.phase == "written" and rank.trace is not None:
            print(plain_text(printable(str(job.directory / rank.trace))))
    if not result.ranks:
        _say("The request was withdrawn or replaced before a process began.")
    missing = [rank for rank in result.ranks if rank.phase != "written"]
    for rank in missing[:_MOST_LISTED]:
        name = rank.worker if rank.rank is None else f"rank {rank.rank}"
        why = _ENDS.get(rank.phase, f"it was still {rank.phase} when the time was over")
        _say(f"{name}: {rank.error or why}")
    if len(missing) > _MOST_LISTED:
        _say(f"and {len(missing) - _MOST_LISTED:,} more")
    return int(not complete)


_ENDS = {
    "failed": "it wrote no trace",
    "gone": "the process is gone",
    "expired": "it did not read the request in time",
    "withdrawn": "the request was withdrawn",
    "asked": "it did not read the request in time",
}


def _say(text: str) -> None:
    from tb_privateuse1.i18n.units import plain_text

    print(f"tb-privateuse1: {plain_text(text)}", file=sys.stderr)
