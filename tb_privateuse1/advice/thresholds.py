"""Thresholds of findings: the least share of the step that is worth a fix, by effort of the fix.

The least one is the noise between runs of one program. The others are conventions: they rise with
the effort of the fix, and with how often a healthy program has the pattern.
"""

from __future__ import annotations

NOISE = 0.005
"""The fix is an argument. Steps of two runs of one program differ by about as much."""
ONE_PLACE = 0.01
"""The fix changes one line or one module: twice the noise is seen after it."""
USUAL = 0.02
"""Every model has a few of these, and networks and devices vary by that much."""
MANY_PLACES = 0.03
"""The fix changes several places. Other tools draw their line at 3 to 5 % (TraceLens: 5 %)."""
ANY_PROGRAM = 0.05
"""Any program has less, however well tuned. TraceLens draws its line here."""
PROGRAM = 50
"""Activities of a recording. Fewer are no program, but a test of a few operators."""
