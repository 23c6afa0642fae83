"""
When classes are rarer in use than in training
==============================================

A sample for training is often balanced by hand, and the world is not. If the classes themselves look the same as
before, the probabilities can be corrected without a single new label: `PriorShift` estimates the new class
frequencies from unlabelled samples, tests whether they have changed at all, and corrects the probabilities.

Five classes that overlap. In training they are equally frequent; in use, one makes up more than half.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import SMLR
from smaller.decision import PriorShift

rng = np.random.default_rng(0)
centres = 1.5 * rng.standard_normal((5, 4))
truth = np.array([0.55, 0.2, 0.1, 0.08, 0.07])


def draw(n, priors):
    """n samples with these class frequencies; a class is a Gaussian around its centre."""
    y = rng.choice(5, size=n, p=priors)
    return centres[y] + 1.2 * rng.standard_normal((n, 4)), y


X, y = draw(1000, np.full(5, 0.2))
X_new, _ = draw(1000, truth)

model = PriorShift(SMLR(lam=2.0)).fit(X, y).adapt(X_new)
print(f"If nothing had changed, p = {model.shift_.p_value:.0e}")

# %%
# The true frequencies were never shown to the model.

bars = {
    "training": (np.bincount(y) / len(y), "0.75"),
    "in use, true": (truth, "tab:blue"),
    "in use, estimated": (model.priors_, "tab:orange"),
}
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for place, (label, (values, colour)) in enumerate(bars.items()):
    axes.bar(np.arange(5) + 0.27 * (place - 1), values, width=0.27, label=label, color=colour)
axes.set(xlabel="Class", ylabel="Frequency", xticks=range(5))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# What the correction gains, on other samples of the same kind:

X_test, y_test = draw(5000, truth)
for name, classifier in (("as trained", model.estimator_), ("corrected", model)):
    P = classifier.predict_proba(X_test)
    wrong = np.mean(P.argmax(axis=1) != y_test)
    loss = -np.log(P[np.arange(len(y_test)), y_test]).mean()
    print(f"{name:10}  error {wrong:.1%}, log-loss {loss:.3f}")
