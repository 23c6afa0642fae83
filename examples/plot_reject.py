"""
Refuse what is not sure
=======================

A classifier that may say "I do not know" errs less on what it does decide. How much less? The risk-coverage curve
tells: sort the samples by confidence, accept the most confident ones first, and look at the error among those
accepted.

`Rejecting` chooses the threshold for you, here by a guarantee: with a probability of 95 %, at most 4 % of the
accepted samples to come are wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from smaller import SBMLR
from smaller.decision import Rejecting

data = load_breast_cancer()
X, X_rest, y, y_rest = train_test_split(
    data.data[:, :10], data.target_names[data.target], test_size=0.7, random_state=0
)
X_choose, X_test, y_choose, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

classifier = SBMLR().fit(X, y)
model = Rejecting(FrozenEstimator(classifier), error=0.04, guarantee=0.95).fit(X_choose, y_choose)
decided = model.predict(X_test)
accepted = decided != "reject"
print(f"Threshold {model.threshold_:.2f}")
print(f"Test: {accepted.mean():.0%} accepted, {np.mean(decided[accepted] != y_test[accepted]):.1%} of them wrong")
print(f"Without rejection {np.mean(classifier.predict(X_test) != y_test):.1%} are wrong")

# %%
# The curve, on test samples. The steps at its left end are single errors: few samples are accepted there.

confidence = classifier.predict_proba(X_test).max(axis=1)
order = np.argsort(-confidence)
wrong = (classifier.predict(X_test) != y_test)[order]
coverage = np.arange(1, len(wrong) + 1) / len(wrong)

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.plot(coverage, np.cumsum(wrong) / np.arange(1, len(wrong) + 1), drawstyle="steps-post", linewidth=2)
axes.axvline(accepted.mean(), color="black", linestyle=":", label="threshold of the guarantee")
axes.axhline(0.04, color="tab:red", linestyle="--", label="what was asked for")
axes.set(xlabel="Fraction accepted", ylabel="Error among the accepted", xlim=(0, 1), ylim=(0, 0.1))
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
plt.show()
