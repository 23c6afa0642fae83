"""The width of an RBF kernel, chosen by cross-validation along whole paths."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from ..basis import Kernel
from ..models.base import problem_of
from ..models.boosted import BoostedModel, best_score
from ..models.kernel_machines import JFSCL


def tune_width(model, X, y, factors=(0.25, 0.5, 1.0, 2.0, 4.0), *, sample_weight=None):
    """The model with the width of its RBF kernel chosen by cross-validation: one cross-validated path for each width.

    Parameters
    ----------
    model : LRVM or JFSCL
        With ``lam="cv"``; it is left as it is.
    X, y, sample_weight
        As in its ``fit``.
    factors : array-like of float
        Widths gamma to try, as multiples of the model's default, ``gamma="scale"``.

    Returns
    -------
    model : LRVM or JFSCL
        A new one, fitted, with the best width among its parameters; ``widths_`` and ``width_scores_`` list what was
        tried, and the best mean score on each path.

    Examples
    --------
    >>> from smaller import JFSCL, tune_width
    >>> from smaller.synthetic import make_gaussians
    >>> data = make_gaussians(100, 5, random_state=0)
    >>> model = tune_width(JFSCL(cv=3), data.data, data.target, factors=[0.5, 1.0])
    >>> bool(model.gamma == model.widths_[model.width_scores_.argmax()])
    True
    """
    if not isinstance(model, BoostedModel):
        raise ValueError(
            f"tune_width chooses the width of an LRVM or a JFSCL; got {type(model).__name__}. For other models, "
            "compare evidence_ with EvidenceSearch, or scores with scikit-learn's GridSearchCV."
        )
    if model.lam != "cv":
        raise ValueError(f"tune_width compares cross-validated paths and needs lam='cv'; got lam={model.lam!r}.")
    gated = isinstance(model, JFSCL)
    fresh = clone(model).set_params(**({"gamma": "scale"} if gated else {"basis": Kernel("rbf")}))
    basis = problem_of(fresh, X, y, sample_weight).sample.basis
    scale = basis.gamma_ if gated else getattr(basis, "basis_", basis).gamma_
    widths = scale * np.asarray(factors, dtype=np.float64)
    tried = []
    for width in widths:
        here = clone(model).set_params(**({"gamma": width} if gated else {"basis": Kernel("rbf", gamma=width)}))
        tried.append(here.fit(X, y, sample_weight))
    scores = np.array([best_score(here) for here in tried])
    best = tried[int(np.argmax(scores))]
    best.widths_, best.width_scores_ = widths, scores
    return best
