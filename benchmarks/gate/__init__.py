"""Accuracy of ``baseline check``: recorded pairs with planted slow-downs, and resampled ones."""
