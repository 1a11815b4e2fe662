"""The report: one HTML file with the figures, charts and tables of a trace, or of a diff.

``contents`` runs the views and says what the report holds, ``timeline_levels`` adds the timeline at
several levels of detail, ``budget`` keeps all of it below a size, ``document`` writes the file.
The script in it is the pages' own code (``frontend/src/report``), built into ``bundle/``.
"""

__all__ = ["budget", "contents", "document", "timeline_levels"]
