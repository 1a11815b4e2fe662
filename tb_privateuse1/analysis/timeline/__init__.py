"""Rectangles, tracks and levels of detail for drawing a trace."""

__all__ = [
    "appearance",
    "level_of_detail",
    "rectangles",
    "tracks",
]
