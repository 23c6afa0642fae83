"""Samples in the blocks of Dask collections: rows stay on the workers, sums of them come to the client."""
