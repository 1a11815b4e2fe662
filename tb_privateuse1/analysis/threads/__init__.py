"""Host threads: what each one does, hand-offs between them, and how far two clocks disagree.

``activity`` finds when a thread works, ``hand_offs`` when one works while another waits for it.
``roles`` gives each thread a role from both, and the hand-offs of the program. ``result_waits``
finds which threads wait for what others finish. ``clock_slack`` estimates the disagreement of host
and device clocks.
"""

__all__ = [
    "activity",
    "clock_slack",
    "hand_offs",
    "result_waits",
    "roles",
]
