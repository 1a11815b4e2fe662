"""``agents``: print the skill file for agents, or install it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tb_privateuse1.cli.commands import COMMANDS, add_command, write

if TYPE_CHECKING:
    from tb_privateuse1.cli.commands import Commands


def add(commands: Commands) -> None:
    """Add the command."""
    agents = add_command(
        commands,
        "agents",
        _agents,
        COMMANDS["agents"],
        "--install ~/.agents/skills",
    )
    agents.add_argument(
        "--install", metavar="DIR", help="write DIR/tb-privateuse1/SKILL.md instead of printing"
    )


def _agents(options: argparse.Namespace) -> int:
    from tb_privateuse1.server.agents import reference, skill

    if options.install is None:
        write(reference.skill().encode())
    else:
        print(skill.install(options.install))
    return 0
