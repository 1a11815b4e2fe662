"""The TensorBoard plugin: HTTP routes and the bundle; and the MCP server of ``agents``.

TensorBoard imports this: import nothing.
"""

__all__ = ["access", "agents", "loader", "messages"]
