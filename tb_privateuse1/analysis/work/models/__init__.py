"""Models of the work of operators, a file per family.

Each file has ``MODELS``: the operators' reduced names (``registry.reduced_name``) and their models.
"""

__all__ = [
    "attention",
    "compiled",
    "convolutions",
    "copies",
    "elementwise",
    "embedding_tables",
    "fbgemm",
    "indexing",
    "losses",
    "norms",
    "optimizers",
    "pooling",
    "products",
    "recurrent",
    "reductions",
    "serving",
    "softmax",
    "transforms",
]
