"""Odd circumstances in which programs record; each with what is expected of it.

``python -m tests.device.capture.circumstances`` prints them as a table.
"""

from __future__ import annotations

from tests.device.capture.circumstances.ends import ENDS
from tests.device.capture.circumstances.profilers import PROFILERS
from tests.device.capture.circumstances.runner import Circumstance, Outcome, Runner
from tests.device.capture.circumstances.surroundings import SURROUNDINGS

__all__ = ["CIRCUMSTANCES", "Circumstance", "Outcome", "Runner"]

CIRCUMSTANCES = [*PROFILERS, *ENDS, *SURROUNDINGS]
