"""Modules under the names of version 0.1, for users' rules and notebooks; for one release."""
