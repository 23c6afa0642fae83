"""
Regression with error bars and few relevance vectors
====================================================

A relevance vector machine places a kernel on every sample and then switches off all but a few. It learns the noise
too, so that a prediction comes with a standard deviation. Nothing is tuned here but the width of the kernel, and
for that the evidence is compared: no cross-validation.

The data are the classic of this method, sin(x) / x with noise of standard deviation 0.1.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import EvidenceSearch, RVMRegressor
from smaller.basis import Kernel
from smaller.synthetic import make_sinc

data = make_sinc(100, noise=0.1, random_state=0)
widths = [Kernel("rbf", gamma=gamma) for gamma in (0.02, 0.05, 0.1, 0.2, 0.5)]
model = EvidenceSearch(RVMRegressor(), {"basis": widths}).fit(data.data, data.target).best_estimator_
print(f"Width of the greatest evidence: gamma = {model.basis.gamma}")
print(
    f"{len(model.relevance_vectors_)} of {len(data.target)} samples kept; noise {model.noise_**0.5:.3f}, in truth 0.1"
)

# %%
# The band is the mean plus and minus two standard deviations of a *new observation*. It holds the uncertainty of
# the weights and the noise.

grid = np.linspace(-14, 14, 400)[:, None]
mean, std = model.predict(grid, return_std=True)
kept = np.isin(data.data[:, 0], model.relevance_vectors_[:, 0])

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(
    grid[:, 0], mean - 2 * std, mean + 2 * std, color="tab:blue", alpha=0.15, label="two standard deviations"
)
axes.plot(grid[:, 0], np.sinc(grid[:, 0] / np.pi), "--", color="0.4", label="truth")
axes.plot(grid[:, 0], mean, color="tab:blue", linewidth=2, label="mean")
axes.plot(data.data[:, 0], data.target, ".", color="0.6")
axes.plot(data.data[kept, 0], data.target[kept], "o", mfc="none", mec="tab:red", ms=10, label="relevance vectors")
axes.set(xlabel="x", ylabel="y")
axes.legend(frameon=False, fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One warning. Outside the data, here beyond 10, all kernels vanish. The band of a relevance vector machine does not
# widen there, although nothing is known. Do not read it as certainty. This belongs to the model, not to the
# software.

inside, outside = model.predict([[5.0], [50.0]], return_std=True)[1]
print(f"Standard deviation at x = 5: {inside:.3f}; at x = 50, far from all data: {outside:.3f}")
