"""Mutants of recordings: no reader may crash or hang, and sums are those of plain programs."""
