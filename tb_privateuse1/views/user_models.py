"""Users' own work models, from Python files or installed packages; see docs/guide/work.md.

Their code runs in our process, so only files that the user names are loaded, never files of a
logdir.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tb_privateuse1.analysis.work import registry
from tb_privateuse1.analysis.work.call_work import Model
from tb_privateuse1.i18n import say
from tb_privateuse1.trace import user_code

VARIABLE = "TB_PRIVATEUSE1_WORK_MODELS"
"""The environment variable with the files' paths, separated as in ``PATH``."""

GROUP = "tb_privateuse1.work_models"
"""The entry points of packages: each names a dict of models."""

_MESSAGES = user_code.Messages(
    code="bad_work_models",
    unreadable=say("The work models in {name}: cannot be read: {error}."),
    not_python=say("The work models in {name}: is no Python file (.py)."),
    not_run=say("The work models in {name}: cannot be run: {error}."),
    not_loaded=say("The work models in {name}: cannot be loaded: {error}."),
    hint=say("docs/guide/work.md says what a file of work models holds."),
)


def load_models(paths: Sequence[str]) -> Mapping[str, Model]:
    """Return the models of files and packages by operator; later ones replace earlier ones.

    Raises TraceError ``bad_work_models`` if a file or a package cannot be used.
    """
    models: dict[str, Model] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        models |= _models(point.value, user_code.loaded(point.value, point.load, _MESSAGES))
    for path in paths:
        module = user_code.run_file(path, _MESSAGES)
        models |= _models(path, getattr(module, "MODELS", None))
    return models


def use_from_environment() -> None:
    """Use the models of the files that the environment variable names.

    Raises TraceError ``bad_work_models``, and then uses ours alone.
    """
    registry.use_models({})
    paths = [path for path in os.environ.get(VARIABLE, "").split(os.pathsep) if path]
    registry.use_models(load_models(paths))


def _models(where: str, value: Any) -> Mapping[str, Model]:
    if isinstance(value, Mapping) and value:
        named = all(isinstance(name, str) and name for name in value)
        if named and all(map(callable, value.values())):
            return dict(value)
    raise _MESSAGES.error(
        where, say("The work models in {name}: has no MODELS, a dict of functions by operator.")
    )
