"""The TensorBoard plugin: HTTP routes and the bundle. TensorBoard imports this: import nothing."""

__all__ = ["access", "loader", "messages"]
