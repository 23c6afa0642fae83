"""
Where in the brain? Sources of free orientation
===============================================

Sixty electrodes see 300 places, each of which may be active in any direction: three columns of the leadfield belong to
one place, and are kept or left out together (`groups`). Twenty times are measured at once and share the places. The
leadfield is simulated: dipoles in a ball of homogeneous tissue, whose potentials fall with the square of the distance.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import TypeIIRegressor

# %%
# Places inside the upper half of a ball, electrodes on its surface, and three places that are active.

rng = np.random.default_rng(4)
places = rng.standard_normal((300, 3))
places *= (0.85 * rng.random(300) ** (1 / 3) / np.linalg.norm(places, axis=1))[:, None]
places[:, 2] = np.abs(places[:, 2])
electrodes = rng.standard_normal((60, 3))
electrodes[:, 2] = np.abs(electrodes[:, 2])
electrodes /= np.linalg.norm(electrodes, axis=1)[:, None]
apart = electrodes[:, None] - places[None]
leadfield = (apart / np.linalg.norm(apart, axis=2, keepdims=True) ** 3).reshape(60, 900)
leadfield -= leadfield.mean(axis=0)  # potentials against the mean of the electrodes

outer = np.flatnonzero(np.linalg.norm(places, axis=1) > 0.6)
active = sorted(outer[[5, 30, 60]].tolist())  # deep places are hardly seen by any electrode
waves = np.sin(np.linspace(0, 6, 20)[None] * np.array([[1.0], [1.7], [2.3]]))
currents = np.zeros((300, 3, 20))
currents[active] = rng.standard_normal((3, 3, 1)) * waves[:, None]
clean = leadfield @ currents.reshape(900, 20)
noise = (clean**2).mean() / 100  # twenty decibels
potentials = clean + np.sqrt(noise) * rng.standard_normal(clean.shape)

# %%
# Evidence maximisation, beside gamma-MAP by the rule of MNE's ``gamma_map`` and the minimum-norm solution of the same
# noise, which spreads over all places. That rule divides by the size of the groups once more than the evidence asks
# for, so that its groups of three end at smaller variances and a lower evidence.


def gamma_map(steps=300):
    """MacKay's update as in MNE 1.13 with ``group_size=3``, from a variance of 1; variances and means."""
    gamma = np.ones(300)
    for _ in range(steps):
        each = np.repeat(gamma, 3)
        solved = np.linalg.solve(noise * np.eye(60) + (leadfield * each) @ leadfield.T, leadfield)
        means = each[:, None] * (solved.T @ potentials)
        pulled = each * (leadfield * solved).sum(axis=0)
        square, pulled = (values.reshape(300, 3).sum(axis=1) for values in ((means**2).mean(axis=1), pulled))
        gamma = square / np.maximum(pulled, 1e-300) / 3
    return gamma, means


def log_evidence(gamma):
    """Of a variance for each place."""
    S = noise * np.eye(60) + (leadfield * np.repeat(gamma, 3)) @ leadfield.T
    quadratic = (potentials * np.linalg.solve(S, potentials)).sum()
    return -0.5 * (20 * (np.linalg.slogdet(S)[1] + 60 * np.log(2 * np.pi)) + quadratic)


gamma, theirs = gamma_map()
model = TypeIIRegressor(noise=noise, groups=np.repeat(np.arange(300), 3), fit_intercept=False)
model.fit(leadfield, potentials)
scale = (potentials**2).mean() / (leadfield**2).sum(axis=1).mean()
S = noise * np.eye(60) + scale * leadfield @ leadfield.T
minimum_norm = scale * leadfield.T @ np.linalg.solve(S, potentials)

powers = {
    "Truth": (currents**2).sum(axis=(1, 2)),
    "Type II, groups of three": (model.coef_.T.reshape(300, 3, 20) ** 2).sum(axis=(1, 2)),
    "gamma-MAP as in MNE": (theirs.reshape(300, 3, 20) ** 2).sum(axis=(1, 2)),
    "Minimum norm": (minimum_norm.reshape(300, 3, 20) ** 2).sum(axis=(1, 2)),
}
figure, panels = plt.subplots(1, 4, figsize=(11, 2.4), layout="constrained", sharex=True, sharey=True)
for axes, (name, power) in zip(panels, powers.items(), strict=True):
    axes.scatter(places[:, 0], places[:, 2], s=6, color="0.85")
    axes.scatter(places[:, 0], places[:, 2], s=300 * power / power.max(), color="tab:blue", alpha=0.6)
    axes.plot(places[active, 0], places[active, 2], "x", color="tab:red")
    axes.set(title=name, xlabel="left to right")
    axes.set_aspect("equal")
panels[0].set_ylabel("up")
plt.show()

# %%
# The size of a dot is the power of a place; red crosses are the active ones.

strongest = np.argsort(-powers["Type II, groups of three"])[:3]
print("The three strongest places:", sorted(strongest.tolist()), "of", active)
print(f"Log evidence {model.evidence_:.1f}, of gamma-MAP {log_evidence(gamma):.1f}")
print(f"What all other places promise together: {model.violation_:.1e} nats")
