"""`smaller` against its peers, in one run and to the same certified accuracy: python -m benchmarks.run"""

import os

# One thread each, so that ratios compare algorithms. It must be said before NumPy loads its BLAS.
for _variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ[_variable] = "1"
