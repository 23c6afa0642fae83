"""
Which of these features would other samples select?
===================================================

One fit of a sparse model gives weights; it does not say which features are there by chance. Here are 120 samples of
400 features, of which six matter. To the right are features with a large weight in the fit to all samples; above the
dotted line are those that most half-samples select, of which at most one is expected to be false. Some weights on the
right are low: they fit the noise of these samples, and half of them would not have selected the feature.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import SMLRCV
from smaller.inference import StabilitySelection
from smaller.plots import FrequencyDisplay

rng = np.random.default_rng(2)
X = rng.standard_normal((120, 400))
score = X[:, :6] @ [2.0, -2.0, 1.5, -1.5, 1.2, -1.2]
y = (score + rng.logistic(size=120) > 0).astype(int)

model = SMLRCV(standardize=True).fit(X, y)
selector = StabilitySelection(max_false=1.0, random_state=0).fit(X, y)
names = [f"true {j}" if j < 6 else f"chance {j}" for j in range(400)]
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
FrequencyDisplay.from_estimator(selector, model, X, names=names, ax=axes)
kept, true = len(model.support_), np.sum(model.support_ < 6)
axes.set_title(f"cross-validation keeps {kept} features, {true} of them true;\n{selector.sentence(short=True)}")
plt.show()
