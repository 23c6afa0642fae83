"""
Directions of arrival, with complex data
========================================

Twenty sensors in a row, half a wavelength apart, hear three sources. What a source in one direction does to
the sensors is a complex vector; the dictionary has one for each degree. `complex=True` takes such data as they are,
with circular noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import TypeIIRegressor

# %%
# Eight snapshots at ten decibels; two of the sources are eight degrees apart, less than the beam of the array resolves
# well.

rng = np.random.default_rng(1)
angles = np.arange(-90, 91)
steering = np.exp(1j * np.pi * np.outer(np.arange(20), np.sin(np.deg2rad(angles)))) / np.sqrt(20)
directions = [-40, 12, 20]
signals = rng.standard_normal((3, 8)) + 1j * rng.standard_normal((3, 8))
clean = steering[:, np.searchsorted(angles, directions)] @ signals
noise = (np.abs(clean) ** 2).mean() / 10
hiss = np.sqrt(noise / 2) * (rng.standard_normal(clean.shape) + 1j * rng.standard_normal(clean.shape))
snapshots = clean + hiss

model = TypeIIRegressor(noise=noise, complex=True, fit_intercept=False).fit(steering, snapshots)
beam = (np.abs(steering.conj().T @ snapshots) ** 2).mean(axis=1)

# %%
# The power in each direction by a conventional beam, and the variances of Type II.

figure, axes = plt.subplots(figsize=(7, 3.4), layout="constrained")
axes.plot(angles, 10 * np.log10(beam / beam.max()), color="0.6", label="beamformer")
kept = model.support_
axes.vlines(
    angles[kept], -30, 10 * np.log10(model.gamma_[kept] / model.gamma_.max()), color="tab:blue", label="Type II"
)
for direction in directions:
    axes.axvline(direction, color="tab:red", linestyle=":", linewidth=1)
axes.set(ylim=(-30, 1), xlabel="direction in degrees (red: sources)", ylabel="power in decibels")
axes.legend(loc="upper left")
plt.show()

# %%
# Neighbours on the grid share the power of a source that lies between them or is blurred by noise.

print("Kept:", angles[kept].tolist(), "log evidence", round(model.evidence_, 1))
