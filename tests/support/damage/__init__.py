"""Damage good recordings as profilers do: no figure of the views may be wrong in silence."""
