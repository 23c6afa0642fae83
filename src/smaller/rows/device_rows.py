"""Likelihood and posterior of class labels on a device: arrays with a row for each sample stay there.

The formulas are those of :mod:`smaller.likelihoods` and :mod:`smaller.objective`, in float64, so that certificates mean
the same. Weights, gradients and KKT residuals are NumPy arrays.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from .._core.reference_sums import softmax_conjugate, softmax_fit
from ..design import AcceleratedDesign, host
from ..likelihoods import Multinomial
from ..objective.posterior import Posterior
from ..objective.sample import Sample
from ..priors import ElasticNet


class AcceleratedMultinomial(Multinomial):
    """The multinomial likelihood of arrays in the namespace `xp`."""

    def __init__(self, reference: bool, xp: Any):
        super().__init__(reference)
        self.xp = xp

    def fit(self, F, Y, s) -> tuple[Any, Any, float]:
        """P = softmax(F), U = P - Y and the negative log-likelihood."""
        return softmax_fit(F, Y, s, self.reference, self.xp)

    def conjugate(self, U, Y, s, shrink: float = 1.0) -> float:
        """Negative entropy of Q = Y + shrink U, which must lie in the simplex."""
        return softmax_conjugate(U, Y, s, shrink, self.reference, self.xp)


class AcceleratedPosterior(Posterior):
    """The negative log posterior of class labels on an accelerated design; Y, s and scores are on its device."""

    design: AcceleratedDesign
    likelihood: AcceleratedMultinomial
    cheap = 2e10  # operations that take no longer than the launches of gradient steps

    @property
    def xp(self) -> Any:
        """The namespace of arrays with a row for each sample."""
        return self.design.xp

    @property
    def single(self) -> bool:  # type: ignore[override]
        """Whether X is in single precision."""
        return self.design.X.dtype == self.xp.float32

    def put(self, a: np.ndarray, dtype: Any = None) -> Any:
        """An array on the device, in float64 by default."""
        return self.design.put(a, dtype)

    def weighted(self, A: Any) -> np.ndarray:
        """sum_i s_i A_i."""
        return host(self.xp.sum(self.s[:, None] * A, axis=0))

    def gauge(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and spreads of the columns in X's own precision."""
        return self.design.gauge(self.s)

    def loss_gradient(self, precise: bool) -> Any:
        """The function of weights and intercepts to the gradients of the loss in them, in X's precision or float64."""
        dtype = self.xp.float64 if precise else self.design.X.dtype
        return self.design.loss(self.Y, self.s, self.offset, self.likelihood.reference, dtype)

    def _set(self, sample: Sample, likelihood: Any, prior: ElasticNet) -> None:
        design: Any = sample.design
        super()._set(sample, AcceleratedMultinomial(likelihood.reference, design.xp), prior)

    def hessian_on(self, P, active: np.ndarray) -> np.ndarray:
        """Second derivatives in the weights of a mask (m, k), class by class.

        The blocks of each class, sum_i s P_l x x^T, less B^T B, B = sqrt(s) P_l x of all weights at once: where there
        are many classes, one large product is faster than many small ones.
        """
        xp, design = self.design.xp, self.design
        klass, feature = np.nonzero(active.T)
        ends = np.searchsorted(klass, np.arange(self.k + 1))
        which = design.put(klass, xp.int64)
        joint, blocks = 0.0, [0.0] * self.k
        for part, A in design.gathered(feature):
            weighted = self.s[part, None] * P[part, :]
            B = A * xp.take(P[part, :] * xp.sqrt(self.s[part, None]), which, axis=1)
            joint = joint + xp.matmul(B.T, B)
            for each in range(self.k):
                own = A[:, int(ends[each]) : int(ends[each + 1])]
                blocks[each] = blocks[each] + xp.matmul((own * weighted[:, each : each + 1]).T, own)
        H = -host(joint)
        for each, block in enumerate(blocks):
            here = slice(ends[each], ends[each + 1])
            H[here, here] += host(block)
        H.flat[:: len(H) + 1] += self.l2.T[active.T]
        return H


class DeviceSample(Sample):
    """Training data whose targets, weights and offset lie on the device of the design."""

    posterior: ClassVar[Any] = AcceleratedPosterior

    @cached_property
    def total(self) -> float:
        """Sum of the sample weights."""
        return float(self.design.xp.sum(self.weight))  # type: ignore[attr-defined]


def placed(sample: Sample) -> Sample:
    """The sample with all its arrays beside its design, where that is on a device."""
    design = sample.design
    if not isinstance(design, AcceleratedDesign):
        return sample
    offset = None if sample.offset is None else design.put(sample.offset)
    about = sample.basis, sample.classes, sample.given, sample.vector
    return DeviceSample(design, design.put(sample.Y), design.put(sample.weight), offset, *about)
