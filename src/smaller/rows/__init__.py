"""Where the samples are: on a device, or in the blocks of a Dask collection; in memory they are plain arrays."""
