"""Rules that find what to fix, and the engines that share out time and rank findings."""

__all__ = [
    "engine",
    "passed_checks",
    "rank_engine",
    "rank_rules",
    "rules",
    "user_rules",
]
