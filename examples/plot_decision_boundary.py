"""
A curved boundary and its relevance vectors
===========================================

Two classes, each a mixture of two Gaussians, as in Ripley's book of 1996. The best possible error is about 8 %.
Four kernel classifiers draw nearly the same boundary; what differs is how many training samples they need to keep
for it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC

from smaller import RMLR, SBMLR, RVMClassifier
from smaller.basis import Kernel

CENTRES = np.array([[-0.7, 0.3], [0.3, 0.3], [-0.3, 0.7], [0.4, 0.7]])


def draw(n, seed):
    """n points; the first two centres are class 0, the others class 1."""
    rng = np.random.default_rng(seed)
    which = rng.integers(4, size=n)
    return CENTRES[which] + np.sqrt(0.03) * rng.standard_normal((n, 2)), which // 2


X, y = draw(250, 0)
X_test, y_test = draw(5000, 1)

kernel = Kernel("rbf", gamma=4.0)
models = {
    "RVMClassifier": RVMClassifier(basis=kernel).fit(X, y),
    "SBMLR": SBMLR(basis=kernel).fit(X, y),
    "scikit-learn SVC": SVC(gamma=4.0).fit(X, y),
    "RMLR": RMLR(basis=kernel, lam="evidence").fit(X, y),
}

# %%
# The line is where both classes are equally likely; circles are the samples that a prediction is computed from.

grid = np.stack(np.meshgrid(np.linspace(-1.3, 1.0, 150), np.linspace(-0.3, 1.2, 150)), axis=-1)
figure, panels = plt.subplots(2, 2, figsize=(7, 6), layout="constrained")
for axes, (name, model) in zip(panels.flat, models.items(), strict=True):
    kept = model.support_vectors_ if hasattr(model, "support_vectors_") else model.relevance_vectors_
    scores = model.decision_function(grid.reshape(-1, 2)).reshape(150, 150)
    axes.contourf(
        grid[..., 0], grid[..., 1], scores > 0, levels=[-1, 0, 2], colors=["tab:blue", "tab:orange"], alpha=0.15
    )
    axes.contour(grid[..., 0], grid[..., 1], scores, levels=[0], colors="black")
    axes.scatter(*X.T, c=np.where(y, "tab:orange", "tab:blue"), s=8)
    axes.scatter(*kept.T, s=60, facecolors="none", edgecolors="black")
    error = 1 - model.score(X_test, y_test)
    axes.set(title=f"{name}\n{len(kept)} kept, test error {error:.1%}", xticks=[], yticks=[])
plt.show()
