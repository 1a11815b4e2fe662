"""Decide who may ask a running job for a recording: by default nobody.

Besides what holds for all requests (``access``) two things must hold. The server was started with
the permission. And the request comes from this machine, or calls the server by a name that was
allowed. What asks a job or withdraws a request is JSON from a page of this very server.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from msgspec import Struct
from werkzeug.wrappers import Request

from tb_privateuse1.i18n import say
from tb_privateuse1.server.access import host_of, is_local, other_site
from tb_privateuse1.trace.errors import TraceError

VARIABLE = "TB_PRIVATEUSE1_RECORD"

_OFF = ("", "off", "0", "no", "false")
_ON = ("on", "1", "yes", "true")


class Permission(Struct, frozen=True):
    """The permission to ask jobs, and the host names that hold besides the loopback ones."""

    is_on: bool = False
    hosts: frozenset[str] = frozenset()

    def allows(self, request: Request) -> bool:
        """Return whether who sends this request may see the running jobs."""
        return self.is_on and (host_of(request) in self.hosts or is_local(request))

    def check(self, request: Request) -> None:
        """Raise TraceError ``record_off`` or ``record_not_here``."""
        if not self.is_on:
            hint = say(
                "Start TensorBoard with TB_PRIVATEUSE1_RECORD=on: see docs/guide/record-now.md."
            )
            raise TraceError("record_off", say("This server asks no job for recordings."), hint)
        if not self.allows(request):
            hint = say("Open TensorBoard at localhost, or name its host in TB_PRIVATEUSE1_RECORD.")
            message = say("Recordings cannot be asked for from here.")
            raise TraceError("record_not_here", message, hint)

    def check_change(self, request: Request) -> None:
        """Check a request that changes something.

        A form cannot send JSON, and a script of another site asks first, which nobody answers.
        Raises TraceError as ``check`` does, or ``other_site``.
        """
        self.check(request)
        if request.mimetype != "application/json":
            raise other_site()


def from_environment(environment: Mapping[str, str] = os.environ) -> Permission:
    """Return the permission that ``$TB_PRIVATEUSE1_RECORD`` gives: ``on``, or names of hosts."""
    names = environment.get(VARIABLE, "").lower().split(",")
    words = [name.strip().strip("[]") for name in names]
    if all(word in _OFF for word in words):
        return Permission()
    return Permission(True, frozenset(word for word in words if word not in (*_ON, *_OFF)))
