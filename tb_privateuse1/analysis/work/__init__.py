"""Work of operators and device activities: operations and bytes, from the recorded inputs.

``registry`` has a model per operator, in the families of ``models``. ``operator_work`` applies it
to a trace, ``kernel_work`` shares it among activities, and ``batches`` recognizes samples and
tokens.
"""

__all__ = [
    "announced_attention",
    "arguments",
    "batches",
    "call_work",
    "calls",
    "collectives",
    "kernel_work",
    "list_types",
    "models",
    "operator_work",
    "registry",
    "related_calls",
    "replays",
]
