"""What all displays share: axes, colours, and the error for a missing matplotlib."""

from __future__ import annotations

from typing import Any

# Colours that people with any kind of colour vision can tell apart (Okabe and Ito), dark ones first.
COLOURS = ["#0072B2", "#D55E00", "#007A5E", "#7A4988", "#B8860B", "#444444", "#56B4E9", "#CC79A7"]
GREY = "0.8"
EXTRA = 'Plots need matplotlib; install it with: pip install "smaller[plot]"'


class Display:
    """A plot whose data are attributes; `plot` draws it."""

    ax_: Any
    figure_: Any

    def _axes(self, ax) -> Any:
        """The axes to draw on, new ones where none were given."""
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError(EXTRA) from None
        if ax is None:
            _, ax = pyplot.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def last_step(model) -> Any:
    """The model inside pipelines and searches."""
    if hasattr(model, "steps"):
        return last_step(model[-1])
    return last_step(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def centres_of(model) -> Any:
    """The relevance vectors in the units of the inputs, (m, p); None where a model has none."""
    found = getattr(last_step(model), "relevance_vectors_", None)
    if found is None:
        return None
    found = found.toarray() if hasattr(found, "toarray") else found
    if hasattr(model, "steps") and len(model.steps) > 1:
        return model[:-1].inverse_transform(found)
    return found
