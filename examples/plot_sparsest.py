"""
The sparsest solution, where columns look alike
===============================================

Find x with the fewest non-zeros such that y = Φx. L1 (basis pursuit) does it when the columns of Φ are nearly
orthogonal. In source localisation or genetics they are not: they come in clusters of near copies. Then L1 spreads
over the clusters, and `maximally_sparse`, which reweights L1 by the evidence of Wipf and Wu (2012), still finds the
truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import maximally_sparse

# %%
# A dictionary of 12 clusters with 7 columns each, which differ by 1 %, and 9 active columns inside 3 of the
# clusters.

rng = np.random.default_rng(0)
Phi = np.repeat(rng.standard_normal((30, 12)), 7, axis=1) + 0.01 * rng.standard_normal((30, 84))
truth = np.zeros(84)
truth[[0, 2, 4, 15, 17, 18, 30, 31, 33]] = 1.0, -0.6, 0.9, 0.8, -1.3, 0.7, 0.7, -0.9, 1.1
y = Phi @ truth

found = maximally_sparse(Phi, y)

figure, panels = plt.subplots(3, 1, figsize=(7, 5), layout="constrained", sharex=True)
for axes, (name, x) in zip(panels, [("Truth", truth), ("L1", found.plain), ("maximally_sparse", found.x)], strict=True):
    for edge in range(0, 85, 7):
        axes.axvline(edge - 0.5, color="0.9")
    at = np.flatnonzero(x)
    axes.vlines(at, 0, x[at], color="tab:blue")
    axes.plot(at, x[at], "o", color="tab:blue")
    axes.set(ylabel="x", title=f"{name}: {len(at)} non-zeros, residual {np.linalg.norm(y - Phi @ x):.0e}")
    axes.spines[["top", "right"]].set_visible(False)
panels[-1].set_xlabel("Column (grey lines part the clusters)")
plt.show()

# %%
# All three solve the system. Only the number of non-zeros tells them apart.

print("The right columns:", np.array_equal(found.support, np.flatnonzero(truth)))
