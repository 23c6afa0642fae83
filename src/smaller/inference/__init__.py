"""Which features matter, and how many of those selected may be false.

:class:`StabilitySelection` keeps the features that most half-samples select, with a bound on the expected number of
false ones. The bound has three numbers; :func:`expected_false`, :func:`most_selected` and :func:`least_threshold` find
each of them from the other two.

:class:`Knockoffs` selects features at a false discovery rate, where the law of the columns is known or can be
estimated: for about as many samples as columns or more, and many relevant features.

:func:`certified_support` proves which weights of an L1 fit are zero, and which not.

:class:`CredibleSetsRegressor` and :class:`CredibleSetsClassifier` report sets of features, near copies of each other
often, that hold an effect with a probability.

:func:`sample_posterior` draws from the posterior of a fitted model: intervals of every weight, probabilities of signs
and sizes, and predictions averaged over the draws, as a :class:`PosteriorSample`.

:func:`debiased` gives intervals and p-values of weights where there are enough samples for them.

Examples
--------
>>> from smaller.inference import expected_false, least_threshold
>>> threshold = least_threshold(n_features=500, n_selected=20, max_false=0.5)
>>> print(threshold, round(expected_false(500, 20, threshold), 2))
0.86 0.47
"""

from .certified import CertifiedSupport, certified_support
from .credible_sets import CredibleSetsClassifier, CredibleSetsRegressor
from .debiased import debiased
from .false_bounds import expected_false, least_threshold, most_selected
from .knockoffs import Knockoffs
from .posterior_sample import PosteriorSample
from .sampling import sample_posterior
from .stability import StabilitySelection
from .weight_table import WeightTable

__all__ = [
    "CertifiedSupport",
    "CredibleSetsClassifier",
    "CredibleSetsRegressor",
    "Knockoffs",
    "PosteriorSample",
    "StabilitySelection",
    "WeightTable",
    "certified_support",
    "debiased",
    "expected_false",
    "least_threshold",
    "most_selected",
    "sample_posterior",
]
