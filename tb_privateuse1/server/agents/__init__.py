"""Agents: an MCP server over the same views as HTTP, command line and Python, and the skill."""

__all__ = ["reference", "serve", "skill"]
