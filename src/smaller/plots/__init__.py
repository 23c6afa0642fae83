"""Plots of models with matplotlib, in the style of scikit-learn's displays.

A display is made by ``from_estimator``, or from what was computed before (``from_predictions``, ``from_path``,
``from_scores``, ``from_sample``); it draws at once, and again with ``plot(ax=...)``. Its attributes are the data shown;
``ax_`` and ``figure_`` are the axes and the figure. Needs the extra ``plot``.
"""

from .decisions import PriorShiftDisplay, RiskCoverageDisplay
from .frequencies import FrequencyDisplay, FrequencyPathDisplay
from .functions import BandDisplay, BoundaryDisplay
from .intervals import ForestDisplay, SetsDisplay
from .weight_paths import PathDisplay, SparsityDisplay

__all__ = [
    "BandDisplay",
    "BoundaryDisplay",
    "ForestDisplay",
    "FrequencyDisplay",
    "FrequencyPathDisplay",
    "PathDisplay",
    "PriorShiftDisplay",
    "RiskCoverageDisplay",
    "SetsDisplay",
    "SparsityDisplay",
]
