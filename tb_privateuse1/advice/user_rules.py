"""Users' own rules, from Python files or installed packages; see docs/guide/advice.md.

Their code runs in our process, so only files that the user names are loaded, never files of a
logdir.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tb_privateuse1.advice.rules import RULES
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import user_code
from tb_privateuse1.trace.errors import TraceError

if TYPE_CHECKING:
    from tb_privateuse1.advice.rules.rule import Rule

VARIABLE = "TB_PRIVATEUSE1_RULES"
"""The environment variable with the files' paths, separated as in ``PATH``."""

GROUP = "tb_privateuse1.rules"
"""The entry points of packages: each names a Rule or a tuple of them."""

_log = logging.getLogger(__name__)
_MESSAGES = user_code.Messages(
    code="bad_rules",
    unreadable=say("The rules in {name}: cannot be read: {error}."),
    not_python=say("The rules in {name}: is no Python file (.py)."),
    not_run=say("The rules in {name}: cannot be run: {error}."),
    not_loaded=say("The rules in {name}: cannot be loaded: {error}."),
    hint=say("docs/guide/advice.md says what a file of rules holds."),
)


def load_rules(paths: Sequence[str] = ()) -> tuple[Rule, ...]:
    """Load all rules as they are now, ours first; a user's rule replaces ours of the same name.

    Raises TraceError ``bad_rules`` if a file or a package cannot be used.
    """
    own = [rule for path in paths for rule in _of_file(path)]
    own += _of_packages()
    names = {rule.name for rule in own}
    return (*(RULES[name] for name in RULES if name not in names), *own)


class Rules:
    """The rules of a running program, reloaded when the users' files change."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = tuple(paths)
        self._usable: tuple[Rule, ...] | None = None
        self._problem: str | None = None

    def load(self) -> tuple[Rule, ...]:
        """Load the rules as they are now. Raises TraceError ``bad_rules``."""
        self._usable = load_rules(self._paths)
        self._problem = None
        return self._usable

    def usable(self) -> tuple[Rule, ...]:
        """Return the rules as they are now, or the last usable ones; the log has the reason."""
        try:
            return self.load()
        except TraceError as error:
            if error.message != self._problem:
                _log.error("%s", error.message)
                self._problem = error.message
            return tuple(RULES.values()) if self._usable is None else self._usable


def from_environment() -> Rules:
    """Return the rules of the files that the environment variable names, not loaded yet."""
    return Rules([path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path])


def _of_file(path: str) -> tuple[Rule, ...]:
    module = user_code.run_file(path, _MESSAGES)
    return _rules(path, getattr(module, "RULES", getattr(module, "RULE", None)))


@functools.cache
def _of_packages() -> tuple[Rule, ...]:
    import importlib.metadata

    rules: list[Rule] = []
    for point in importlib.metadata.entry_points(group=GROUP):
        rules += _rules(point.value, user_code.loaded(point.value, point.load, _MESSAGES))
    return tuple(rules)


def _rules(where: str, value: Any) -> tuple[Rule, ...]:
    from tb_privateuse1.advice.rules.rule import CAUSES, Rule

    rules = (value,) if isinstance(value, Rule) else value
    if not isinstance(rules, tuple | list) or not all(isinstance(rule, Rule) for rule in rules):
        raise _MESSAGES.error(
            where,
            say("The rules in {name}: has neither RULE nor RULES that are of the class Rule."),
        )
    for rule in rules:
        if rule.cause not in CAUSES:
            raise _MESSAGES.error(
                where,
                say("The rules in {name}: {rule}: its cause must be one of {causes}."),
                rule=rule.name,
                causes=", ".join(CAUSES),
            )
    return tuple(rules)
