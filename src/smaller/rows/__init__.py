"""Objectives of samples that are not in memory: on a device, or in the blocks of a Dask collection."""
