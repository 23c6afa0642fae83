"""
An image from a quarter of its measurements, by products alone
==============================================================

An image of 64 x 64 pixels has few large cosine coefficients. We measure a quarter of its pixels, with noise, and look
for the coefficients: 1024 measurements, 4096 unknowns. The matrix is never formed. `TypeIIRegressor` takes a
`LinearOperator` that knows how to multiply by it and by its transpose, here by a fast cosine transform.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.fft import dctn, idctn
from scipy.sparse.linalg import LinearOperator

from smaller import TypeIIRegressor

# %%
# Some smooth blobs, whose small coefficients are set to zero, and the pixels that are seen.

rng = np.random.default_rng(0)
side = 64
across, down = np.meshgrid(np.linspace(0, 1, side), np.linspace(0, 1, side))
blobs = [(1.0, 0.3, 0.35, 0.09), (0.8, 0.7, 0.6, 0.12), (-0.6, 0.55, 0.2, 0.07), (0.7, 0.2, 0.8, 0.08)]
image = sum(height * np.exp(-((across - x) ** 2 + (down - y) ** 2) / (2 * width**2)) for height, x, y, width in blobs)
coefficients = dctn(image, norm="ortho")
coefficients[np.abs(coefficients) < np.sort(np.abs(coefficients).ravel())[-200]] = 0.0
image = idctn(coefficients, norm="ortho")
seen = np.sort(rng.choice(side**2, side**2 // 4, replace=False))
deviation = 0.02


def pixels(v):
    """The pixels that are seen, of an image with these coefficients."""
    return idctn(v.reshape(side, side, -1), axes=(0, 1), norm="ortho").reshape(side**2, -1)[seen]


def correlations(u):
    """The transpose: coefficients of an image that has these values where it is seen, and 0 elsewhere."""
    full = np.zeros((side**2, u.size // len(seen)))
    full[seen] = u.reshape(len(seen), -1)
    return dctn(full.reshape(side, side, -1), axes=(0, 1), norm="ortho").reshape(side**2, -1)


Phi = LinearOperator(
    (len(seen), side**2), dtype=float, matmat=pixels, rmatmat=correlations,
    matvec=lambda v: pixels(v)[:, 0], rmatvec=lambda u: correlations(u)[:, 0],
)  # fmt: skip
y = image.ravel()[seen] + deviation * rng.standard_normal(len(seen))

# %%
# The greatest evidence, and EM stopped after 30 steps, which often reconstructs a little better: at its maximum the
# evidence has also fitted some of the noise.

best = TypeIIRegressor(noise=deviation**2, fit_intercept=False).fit(Phi, y)
early = TypeIIRegressor(noise=deviation**2, fit_intercept=False, em_steps=30).fit(Phi, y)
masked = np.full(side**2, np.nan)
masked[seen] = y
views = {"Image": image, "Seen": masked.reshape(side, side)}
for name, model in (("Greatest evidence", best), ("EM, 30 steps", early)):
    view = idctn(model.coef_.reshape(side, side), norm="ortho")
    error = np.linalg.norm(view - image) / np.linalg.norm(image)
    views[f"{name}\nerror {error:.1%}"] = view

figure, panels = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
for axes, (name, view) in zip(panels, views.items(), strict=True):
    axes.imshow(view, cmap="viridis", vmin=image.min(), vmax=image.max())
    axes.set(title=name, xticks=[], yticks=[])
plt.show()

# %%
# The fit says how it ended, over all 4096 columns.

print("\n".join(name.replace("\n", ": ") for name in list(views)[2:]))
print(best.status_, f"with {len(best.support_)} of 4096 coefficients; the others promise {best.violation_:.1e} nats")
