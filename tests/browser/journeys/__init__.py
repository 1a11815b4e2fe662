"""Whole investigations in Chromium, from a logdir to the cause."""
