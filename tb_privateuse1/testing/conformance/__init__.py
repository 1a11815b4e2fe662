"""Judge a PrivateUse1 backend as a source of device times: the conformance kit.

``python -m tb_privateuse1.capture --check`` runs it. ``requirements`` has a file for each line of
the scorecard, ``subject`` what they share of the backend, ``truth`` the work of known length, and
``accuracy`` the class that follows. docs/guide/conformance.md explains each line.
"""

from tb_privateuse1.testing.conformance.command import main

__all__ = ["main"]
