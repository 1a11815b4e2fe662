"""``tb-privateuse1``: the views' results and the merged trace on the command line, and a demo.

Exit codes: 0 fine; 1 findings or a regression beyond the limit asked for; 2 bad use or unreadable
input, 130 interrupted, with one line on stderr. Modules are imported where they are needed, so that
``--help`` is quick.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from tb_privateuse1.version import __version__

if TYPE_CHECKING:
    from tb_privateuse1.runs import Files
    from tb_privateuse1.store import Progress, Store

SAMPLE = Path(__file__).parents[1] / "examples" / "runs"
"""The runs that ``demo`` shows: they are in the repository, not in the installed package."""


class _UsageError(Exception):
    """Bad use, in words for the user."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    try:
        return _run(sys.argv[1:] if arguments is None else arguments)
    except _UsageError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("tb-privateuse1: interrupted", file=sys.stderr)
        return 130


def _run(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    from tb_privateuse1.trace import TraceError

    try:
        code: int = options.command(options)
        sys.stdout.flush()
        return code
    except TraceError as error:
        return _fail(f"{error.message} {error.hint or ''}")


def _fail(message: str) -> int:
    line = " ".join(message.split())
    print(f"tb-privateuse1: {line}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tb-privateuse1", description="Profiles of any PyTorch accelerator.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    view = commands.add_parser("view", help="print a view of a trace")
    view.set_defaults(command=_view)
    view.add_argument("name", metavar="NAME", nargs="?", help="overview, kernels, … (see --list)")
    view.add_argument("path", metavar="PATH", nargs="?", help="a logdir, a run or one trace file")
    view.add_argument("--list", action="store_true", help="list the views")
    _selection(view)
    view.add_argument("--step", metavar="N", help="the N of ProfilerStep#N; all by default")
    view.add_argument("--option", action="append", default=[], metavar="K=V", help="of the view")
    form = view.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exactly as over HTTP")
    form.add_argument("--csv", action="store_true", help="the view's table")

    event = commands.add_parser("event", help="print one event with all that the file has of it")
    event.set_defaults(command=_event)
    event.add_argument("path", metavar="PATH", help="a logdir, a run or one trace file")
    event.add_argument("--table", required=True, help="ops, frames, launches, kernels or memory")
    event.add_argument("--row", required=True, metavar="N", help="as in the findings' examples")
    _selection(event)
    event.add_argument("--json", action="store_true", help="exactly as over HTTP")

    merge = commands.add_parser(
        "merge", help="write a Chrome trace with the inferred device timeline"
    )
    merge.set_defaults(command=_merge)
    merge.add_argument("trace", metavar="TRACE")
    merge.add_argument("--kernel-events", metavar="FILE", help="by default the one beside TRACE")
    merge.add_argument("-o", "--output", metavar="OUT", required=True)

    demo = commands.add_parser("demo", help="show the sample runs, or yours, in TensorBoard")
    demo.set_defaults(command=_demo)
    demo.add_argument("logdir", metavar="LOGDIR", nargs="?", help="the sample runs by default")
    demo.add_argument("--port", type=int, help="any free one by default")
    demo.add_argument("--no-browser", action="store_true", help="only print the address")
    return parser


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--run", help="its name; the first one by default")
    parser.add_argument("--rank", type=int, metavar="N", help="the lowest one by default")
    parser.add_argument("--span", type=int, metavar="S", help="the latest one by default")


def _view(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.export import csv, text

    if options.list:
        return _list(options)
    if options.name is None or options.path is None:
        raise _UsageError("view needs NAME and PATH, or --list")
    view = query.view_named(options.name)
    asked = dict(_pair(option) for option in options.option)
    if options.step is not None:
        asked["step"] = options.step
    chosen = query.options(view, asked)
    with _opened(options) as (store, files):
        result = query.run(view, store.trace(files), chosen)
    if options.json:
        _write_json(query.encode(result))
    elif options.csv:
        print(csv.table(result), end="")
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print(text.render(result, width), end="")
    return 0


def _event(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.export import text

    with _opened(options) as (store, files):
        result = query.event(store, files, {"table": options.table, "row": options.row})
    if options.json:
        _write_json(query.encode(result))
    else:
        print(text.render(result), end="")
    return 0


def _list(options: argparse.Namespace) -> int:
    from tb_privateuse1 import query
    from tb_privateuse1.views import VIEWS

    if options.json:
        _write_json(query.encode(list(VIEWS)))
        return 0
    for name, view in VIEWS.items():
        print(f"{name:12} {(view.__doc__ or '').splitlines()[0]}")
    return 0


def _pair(option: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        raise _UsageError(f"--option {option}: it must be K=V")
    return key, value


@contextlib.contextmanager
def _opened(options: argparse.Namespace) -> Iterator[tuple[Store, Files]]:
    from tb_privateuse1 import runs
    from tb_privateuse1.store import Store

    files = runs.scan(options.path).find(options.run, options.rank, options.span)
    terminal = sys.stderr.isatty()
    try:
        yield Store(jobs=0, on_progress=_report if terminal else None), files
    finally:
        if terminal:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _report(progress: Progress) -> None:
    share = 100 * progress.bytes_done // max(progress.bytes_total, 1)
    print(f"\r\033[K{progress.phase} {share} %", end="", file=sys.stderr, flush=True)


def _write_json(body: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(body)
    if sys.stdout.isatty():
        print()


def _merge(options: argparse.Namespace) -> int:
    from tb_privateuse1 import runs
    from tb_privateuse1.discover import roots, tree
    from tb_privateuse1.discover.base import shown
    from tb_privateuse1.export import chrome

    sidecar = options.kernel_events
    if not tree.is_file(roots.located(options.trace)):
        raise _UsageError(f"{shown(options.trace)} is a directory: merge takes one trace")
    if sidecar is None:
        beside = runs.scan(options.trace).find().sidecar
        sidecar = beside.path if beside else None
    trace = chrome.merge(options.trace, sidecar, options.output)
    print(f"{options.output}: {len(trace.kernels)} device activities, {trace.meta.timeline}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    from tb_privateuse1.remote import is_url

    logdir = options.logdir or str(SAMPLE)
    if not is_url(logdir) and not Path(logdir).is_dir():
        message = f"there is no directory {logdir}"
        if logdir == str(SAMPLE):
            message = "the sample runs are in the source repository, not in the installed package"
        raise _UsageError(f"{message}: name a LOGDIR of your own")
    from tensorboard import default, program

    from tb_privateuse1.loader import Loader

    # No other installed plugin, and ours even if it runs from the sources.
    host = program.TensorBoard(plugins=[*default.get_static_plugins(), Loader])
    port = ["--port", str(options.port)] if options.port else []
    host.configure(["tensorboard", "--logdir", logdir, "--load_fast", "false", *port])
    try:
        address = f"{host.launch()}#privateuse1"
    except program.TensorBoardServerException as error:
        raise _UsageError(f"TensorBoard cannot start: {error}") from error
    print(f"The dashboard is at {address} (Ctrl-C ends it)", flush=True)
    if not options.no_browser:
        import webbrowser

        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
