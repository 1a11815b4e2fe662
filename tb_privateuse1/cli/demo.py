"""``demo``: show the sample runs, or yours, in TensorBoard."""

from __future__ import annotations

import argparse
import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import (
    COMMANDS,
    UsageError,
    add_command,
    add_engine,
    add_vendor,
    vendors,
)

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands

SAMPLE = Path(__file__).parents[2] / "examples" / "runs"
"""The runs that are shown by default: in the repository, not in the installed package."""


def add(commands: Commands) -> None:
    """Add the command."""
    demo = add_command(commands, "demo", _demo, COMMANDS["demo"], "./log")
    demo.add_argument("logdir", metavar="LOGDIR", nargs="?", help="the sample runs by default")
    demo.add_argument("--port", type=int, help="any free one by default")
    add_vendor(demo)
    add_engine(demo)
    demo.add_argument("--no-browser", action="store_true", help="only print the address")


def _demo(options: argparse.Namespace) -> int:
    from tb_privateuse1.discovery.remote import is_url
    from tb_privateuse1.storage import engines

    logdir = options.logdir or str(SAMPLE)
    if not is_url(logdir) and not Path(logdir).is_dir():
        message = f"there is no directory {logdir}"
        if logdir == str(SAMPLE):
            message = "the sample runs are in the source repository, not in the installed package"
        raise UsageError(f"{message}: name a LOGDIR of your own")
    vendors(options)  # a bad file is said here rather than on the page
    engines.select_engine(options.engine).close()  # and a bad engine
    from tensorboard import default, program

    from tb_privateuse1.server.loader import Loader

    # No other installed plugin, and ours even if it runs from the sources.
    host = program.TensorBoard(
        plugins=[*default.get_static_plugins(), Loader(options.vendor, options.engine)]
    )
    port = ["--port", str(options.port)] if options.port else []
    host.configure(["tensorboard", "--logdir", logdir, "--load_fast", "false", *port])
    try:
        address = f"{host.launch()}#privateuse1"
    except program.TensorBoardServerException as error:
        raise UsageError(f"TensorBoard cannot start: {error}") from error
    print(f"The dashboard is at {address} (Ctrl-C ends it)", flush=True)
    if not options.no_browser:
        import webbrowser

        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()
    return 0
