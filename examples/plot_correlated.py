"""
One voxel or the whole patch?
=============================

Where neighbouring features are nearly the same, as in images, an L1 prior picks one of each patch, at random so to
speak. A little ridge (`l2`) beside it keeps the patch together. Both predict alike. Which is right depends on the
question: the fewest sensors, or a map of what carries information.

A made-up experiment: 30 × 30 voxels, smooth activity of the brain, white noise of the scanner, and two conditions
that differ in two patches.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from smaller import RMLR, SMLR

rng = np.random.default_rng(0)
signal = np.zeros((30, 30))
signal[6:11, 6:11] = 1.0
signal[18:23, 20:25] = -1.0
y = np.arange(400) % 2
brain = np.array([gaussian_filter(image, 2.0) for image in rng.standard_normal((400, 30, 30))])
scanner = 0.5 * rng.standard_normal((400, 30, 30))
images = brain / brain.std() + scanner + 0.8 * np.where(y, 1, -1)[:, None, None] * gaussian_filter(signal, 1.5)
X, X_test, y, y_test = images[:200].reshape(200, -1), images[200:].reshape(200, -1), y[:200], y[200:]

models = {
    "SMLR(lam=10)": SMLR(lam=10.0, standardize=True),
    "SMLR(lam=10, l2=1000)": SMLR(lam=10.0, l2=1000.0, standardize=True),
    "RMLR(lam=1000)": RMLR(lam=1000.0, standardize=True),
}
figure, panels = plt.subplots(2, 2, figsize=(7, 7), layout="constrained")
panels = panels.flat
panels[0].imshow(signal, cmap="RdBu", vmin=-1, vmax=1)
panels[0].set_title("truth\n50 voxels")
for axes, (name, model) in zip(panels[1:], models.items(), strict=True):
    weights = model.fit(X, y).coef_.reshape(30, 30)
    largest = abs(weights).max()
    axes.imshow(weights, cmap="RdBu", vmin=-largest, vmax=largest)
    axes.set_title(f"{name}\n{np.count_nonzero(weights)} voxels, {model.score(X_test, y_test):.0%} right")
for axes in panels:
    axes.set(xticks=[], yticks=[])
plt.show()
