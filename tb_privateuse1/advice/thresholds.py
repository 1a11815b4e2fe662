"""Thresholds of findings: the least share of the step that is worth a fix, by effort of the fix.

The least one is the noise between runs of one program. The others rise with the effort of the fix,
and with how often a healthy program has the pattern. Shares of "claims" are those of all that the
rules with a threshold claim in the 117 shared recordings when it is 0.

TraceLens's lines are those of its agent's analyses: copies in one direction and communication
without computation above 5 % (multi_kernel_analysis.py), idle above 15 %, kernels of less than
10 µs (cpu_idle_analysis.py).
"""

from __future__ import annotations

NOISE = 0.005
"""The fix is an argument. Steps of two runs of one program differ by about as much."""
ONE_PLACE = 0.01
"""The fix changes one line or one module: twice the noise is seen after it. 62 % of 196 claims are
less."""
USUAL = 0.02
"""Every model has a few of these, and networks and devices vary by that much. Nine of twelve claims
are less."""
MANY_PLACES = 0.03
"""The fix changes several places. Other tools draw their line at 3 to 5 % (TraceLens: 5 %). 84 % of
140 claims are less: most programs have a little of each pattern."""
ANY_PROGRAM = 0.05
"""Any program has less, however well tuned. TraceLens draws its line here. 37 % of 103 claims are
less."""
PROGRAM = 50
"""Activities of a recording. Fewer are no program, but a test of a few operators."""
