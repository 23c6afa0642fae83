"""
Sparse regression with nothing to tune
======================================

`JeffreysRegressor` has a prior without a parameter. It switches weights off that are within about two standard
errors of zero, and hardly shrinks the others. The lasso, its strength chosen by cross-validation, keeps more and
shrinks all.

Twenty inputs, neighbours correlated; five of the weights are not zero.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LassoCV, LinearRegression

from smaller import JeffreysRegressor
from smaller.synthetic import make_sparse_linear

coef = np.zeros(20)
coef[[0, 4, 8, 12, 16]] = 3.0, -2.0, 1.5, 4.0, -1.0
data = make_sparse_linear(100, coef, noise=2.0, random_state=1)
models = {
    "least squares": LinearRegression(),
    "lasso, cross-validated": LassoCV(),
    "JeffreysRegressor": JeffreysRegressor(),
}

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
axes.plot(coef, "_", color="black", markersize=22, label="truth")
for place, (name, model) in enumerate(models.items()):
    found = model.fit(data.data, data.target).coef_
    miss = (found - coef) @ data.covariance @ (found - coef)
    axes.plot(np.arange(20) + 0.22 * (place - 1), found, "o", ms=5, label=f"{name}: {np.count_nonzero(found)} kept")
    print(f"{name:23} keeps {np.count_nonzero(found):2}, mean squared error beyond the noise {miss:.3f}")
axes.axhline(0, color="0.8", linewidth=1, zorder=0)
axes.set(xlabel="Input", ylabel="Weight", xticks=range(0, 20, 4))
axes.legend(frameon=False, fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# It also learns the noise, here of standard deviation 2, and does not care about units: a target in millimetres
# instead of metres gives the same weights times a thousand.

model = models["JeffreysRegressor"]
again = JeffreysRegressor().fit(data.data, 1000 * data.target)
print(f"noise {model.noise_**0.5:.2f}; same answer in other units: {np.allclose(again.coef_, 1000 * model.coef_)}")
