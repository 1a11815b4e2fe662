"""Advice: the rules that find what to fix, and the engines that run them and rank findings."""

__all__ = [
    "engine",
    "passed_checks",
    "rank_engine",
    "rank_rules",
    "rules",
    "user_rules",
]
