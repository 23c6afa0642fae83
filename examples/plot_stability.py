"""
Which of these features would other samples select?
===================================================

One fit of a sparse model gives weights, and does not say which features are there by chance. Here are 200 samples of
400 features, of which six matter. Cross-validation keeps many more, as that predicts well. Above the dotted line are
the features that most half-samples select, of which at most one is expected to be false; the others would mostly not
be selected again.
"""

import matplotlib.pyplot as plt
import numpy as np

from smaller import SMLRCV
from smaller.inference import StabilitySelection
from smaller.plots import FrequencyDisplay

rng = np.random.default_rng(2)
X = rng.standard_normal((200, 400))
score = X[:, :6] @ [2.0, -2.0, 1.5, -1.5, 1.2, -1.2]
y = (score + rng.logistic(size=200) > 0).astype(int)

model = SMLRCV(standardize=True).fit(X, y)
selector = StabilitySelection(max_false=1.0, random_state=0).fit(X, y)
names = [f"true {j}" if j < 6 else f"chance {j}" for j in range(400)]
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
FrequencyDisplay.from_estimator(selector, model, X, names=names, ax=axes)
kept, true = len(model.support_), np.sum(model.support_ < 6)
stable, false = len(selector.support_), selector.expected_false_
axes.set_title(
    f"cross-validation keeps {kept} features, {true} of them true;\n"
    f"stability selection {stable}, at most {false:.2f} of them false in expectation"
)
plt.show()
