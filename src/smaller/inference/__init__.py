"""Which features matter, and how many of those selected may be false.

:class:`StabilitySelection` keeps the features that most half-samples select, with a bound on the expected number of
false ones. The bound has three numbers; :func:`expected_false`, :func:`most_selected` and :func:`least_threshold` find
each of them from the other two.

:class:`Knockoffs` selects features at a false discovery rate, where the law of the columns is known or can be
estimated: for about as many samples as columns or more, and many relevant features.

:func:`debiased` gives intervals and p-values of weights where there are enough samples for them.

Examples
--------
>>> from smaller.inference import expected_false, least_threshold
>>> threshold = least_threshold(n_features=500, n_selected=20, max_false=0.5)
>>> print(threshold, round(expected_false(500, 20, threshold), 2))
0.86 0.47
"""

from .debiased import debiased
from .false_bounds import expected_false, least_threshold, most_selected
from .knockoffs import Knockoffs
from .stability import StabilitySelection
from .weight_table import WeightTable

__all__ = [
    "Knockoffs",
    "StabilitySelection",
    "WeightTable",
    "debiased",
    "expected_false",
    "least_threshold",
    "most_selected",
]
