"""Programs before and after a fix, measured live, beside what the what-if predicts.

    python -m benchmarks.pairs record DIR     # under ten minutes; all pairs, or --only NAME
    python -m benchmarks.pairs table DIR      # --markdown, or --write docs/internals/pairs.md

``pair`` says what a pair is, ``host_programs`` and ``device_programs`` have the programs with the
changes that model their fixes. ``measure`` times and records one pair in a process of its own, in
the ``quiet`` moments of the machine. ``record`` runs these processes, ``prediction`` asks the
what-if, and ``table`` compares.
"""
