"""Faults planted into tuned programs: does the advice find each, at the price of its removal?

``python -m benchmarks.planted record FOLDER`` times each program with and without its fault and
records both. ``python -m benchmarks.planted table FOLDER`` compares the advice with these times.
With ``--programs later`` both are of faults that were planted when the rules were finished.
With ``--programs blind`` both are of faults by an author who has not read the rules.
With ``--programs tuned`` both are of programs without a fault: the advice should be silent.
"""
