"""Operators to take away: a recorded call as a script that runs on any device with torch alone."""

__all__ = ["recorded_calls", "results", "script"]
