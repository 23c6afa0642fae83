"""
How features enter as the prior weakens
=======================================

The wine data have 13 chemical measurements of 178 wines from three growers. `SMLR` has one parameter, `lam`, the
strength of its prior. At a large `lam` nothing is used. As it falls, measurements enter one after the other, and
some leave again.

`path` solves all strengths of a grid, each with a certificate; `SMLRCV` chooses one of them by cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from smaller import SMLRCV, path

wine = load_wine()
X, y = wine.data, wine.target
found = path(X, y, lams=60, standardize=True)
chosen = SMLRCV(lams=60, rule="1se", standardize=True).fit(X, y)
print(f"Largest duality gap on the path: {found.dual_gaps.max():.0e}")
print(f"Chosen: lam = {chosen.lam_:.2f}, {len(chosen.support_)} of {X.shape[1]} measurements")

# %%
# There is a weight for each measurement and each grower. We draw one line for each measurement: the length of its
# three weights, per standard deviation of the measurement. In colour are those used at the strength that was
# chosen.

length = np.linalg.norm(found.coefs, axis=1) * X.std(axis=0)
at_chosen = length[np.argmin(abs(np.log(found.lams / chosen.lam_)))]

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.plot(found.lams, np.delete(length, chosen.support_, axis=1), color="0.8", linewidth=1)
for rank, j in enumerate(sorted(chosen.support_, key=lambda j: -at_chosen[j])):
    axes.plot(found.lams, length[:, j], "-" if rank < 10 else "--", linewidth=2, label=wine.feature_names[j])
axes.axvline(chosen.lam_, color="black", linestyle=":", label="chosen by cross-validation")
axes.set(xscale="log", xlabel="Strength of the prior, lam (weaker to the left)", ylabel="Length of the weights")
axes.set_xlim(found.lams[-1], found.lams[0])
axes.legend(loc="upper right", frameon=False, fontsize="small")
axes.spines[["top", "right"]].set_visible(False)
plt.show()
