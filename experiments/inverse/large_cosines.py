"""16 384 of 65 536 cosine coefficients of 512 non-zeros, by products: time, memory, and what is still promised."""

import resource
import time

from smaller import TypeIIRegressor

from .problems import undersampled
from .undersampled_cosines import NOISE, relative

SHAPE = 65_536, 16_384, 512


def tasks():
    """One draw, which takes minutes."""
    yield "65536 0", (large, 0)


def large(seed: int) -> dict:
    """65 536 unknowns: time, memory, and how far from a maximum the fit says that it is."""
    Phi, y, x = undersampled(seed, *SHAPE, NOISE)
    began = time.process_time()
    model = TypeIIRegressor(noise=NOISE, fit_intercept=False).fit(Phi, y)
    seconds = time.process_time() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {
        "evidence": float(model.evidence_), "status": model.status_, "violation": float(model.violation_),
        "error": relative(model.coef_, x), "kept": len(model.support_), "seconds": seconds, "GiB": memory,
    }  # fmt: skip


def summary(found: dict) -> list[str]:
    """All that is known."""
    return [f"{key}: {row}" for key, row in found.items()]
