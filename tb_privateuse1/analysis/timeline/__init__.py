"""Geometry of a drawn trace: tracks, rows, rectangles and levels of detail.

``tracks`` lists the tracks and their names. ``level_of_detail`` finds the rectangles of a window,
and ``rectangles`` merges short ones. ``appearance`` has the class, name and certainty of a range.
``window`` cuts ranges and activities to an interval. ``first_look`` is what the page shows first.
"""

__all__ = [
    "appearance",
    "first_look",
    "level_of_detail",
    "rectangles",
    "tracks",
    "window",
]
