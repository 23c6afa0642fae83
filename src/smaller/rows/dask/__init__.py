"""Samples in the blocks of Dask collections: rows stay on the workers, only sums over rows reach the client."""
