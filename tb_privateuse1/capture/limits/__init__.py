"""Limits of a window by operators, bytes and seconds, so that no recording runs out of memory.

``limits`` judges, ``window_limits`` ends the window, the others measure.
"""
