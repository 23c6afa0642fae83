"""Reports: the weights of a model, its errors and its certificate, as one page that works offline.

The facts are computed once, as plain numbers and words (:func:`facts`); the page only draws them.
"""

from __future__ import annotations

import json
from functools import cached_property
from importlib import resources
from typing import Any

from ..atomic import replacing
from ..tuning.ranking import REGRESSION
from .charts import charts
from .explanations import Explanation, explain, mean_columns
from .facts import facts

EXTRA = 'Reports need jinja2 and vl-convert-python; install them with: pip install "smaller[report]"'


class Report:
    """Facts about a model, and the page that shows them.

    Notebooks show the page. The facts do not need the packages that the page needs.

    Attributes
    ----------
    facts : dict
        Plain numbers and words, as :func:`smaller.report.facts` returns them.
    """

    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    @cached_property
    def html(self) -> str:
        """The page as HTML, which loads no other files."""
        return _render(self.facts)

    def save(self, path) -> None:
        """Write the page, or the facts if the name ends in .json; the file appears whole or not at all."""
        text = json.dumps(self.facts, indent=1) if str(path).lower().endswith(".json") else self.html
        with replacing(path) as beside:
            beside.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        inside = self.html.replace("&", "&amp;").replace('"', "&quot;")
        return f'<iframe srcdoc="{inside}" style="width:100%;height:50rem;border:0" title="report"></iframe>'

    def __repr__(self) -> str:
        quality = self.facts["quality"]
        if self.facts["task"] == REGRESSION:
            return f"<Report: {self.facts['title']}; RMS error {quality['rmse']:.4g} >"
        return f"<Report: {self.facts['title']}; {quality['wrong']} of {quality['tested']} wrong>"


def report(
    model, X, y, *, names=None, source: str = "", training=None, path=None, selection=None, intervals=None,
    posterior=None, sets=None, threshold=None, date=None,
) -> Report:  # fmt: skip
    """A report on a fitted model: the weights kept, its errors, their bound, and its certificate.

    For classifiers the report has calibration, the reject option, costs, priors and the bound; for regressors
    residuals, the coverage of intervals, and the noise.

    Parameters
    ----------
    model : classifier or regressor
        Fitted: a model of this package, or a meta-estimator with one inside.
    X, y : array-like of shape (n_samples, n_features), array-like of shape (n_samples,)
        Samples to report on, best samples that the model was not fitted on.
    names : sequence of str, default=None
        Names of the inputs; by default those seen in fit.
    source : str
        Where the samples come from, for the title.
    training : dict, default=None
        Facts about the training, as :func:`smaller.report.facts` takes them.
    path : Path, default=None
        The regularisation path of the training samples, as :func:`smaller.training_path` computes it; by default the
        one kept with the model (``path_``), if any.
    selection : StabilitySelection or Knockoffs, default=None
        Fitted on the inputs of the model, or on more, of which the model has those selected: how often half-samples
        select each feature, and how many of the list may be false.
    intervals : WeightTable, default=None
        Intervals and p-values of the weights, as :func:`smaller.inference.debiased` returns them.
    posterior : PosteriorSample, default=None
        Draws from the posterior of the model, as :func:`smaller.inference.sample_posterior` returns them: intervals
        and probabilities beside the weights, and a plot of the intervals.
    sets : CredibleSetsClassifier or CredibleSetsRegressor, default=None
        Fitted on the inputs of the model: which of several similar features matter.
    threshold, date
        As :func:`smaller.report.facts` takes them.

    Returns
    -------
    Report
        ``.facts`` are plain numbers, ``.html`` is the page, ``.save(path)`` writes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR, report
    >>> X, y = load_iris(return_X_y=True)
    >>> report(SBMLR().fit(X[::2], y[::2]), X[1::2], y[1::2], source="every second iris")
    <Report: SBMLR on every second iris; 2 of 75 wrong>
    >>> from sklearn.datasets import load_diabetes
    >>> from smaller import RVMRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = report(RVMRegressor("linear").fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> print(f"{found.facts['quality']['inside']:.0%} of the targets are in their 90 % intervals")
    91% of the targets are in their 90 % intervals
    """
    told = {"names": names, "source": source, "training": training, "path": path, "threshold": threshold, "date": date}
    told |= {"selection": selection, "intervals": intervals, "posterior": posterior, "sets": sets}
    return Report(facts(model, X, y, **told))


def _render(facts: dict[str, Any]) -> str:
    try:
        import jinja2
        import vl_convert
    except ImportError:
        raise ImportError(EXTRA) from None
    loader = jinja2.FunctionLoader(lambda name: resources.files(__package__).joinpath(name).read_text("utf-8"))
    environment = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters.update(percent=lambda x: f"{100 * x:.1f}\u00a0%", figures=_figures, interval=_interval)
    drawn = charts(facts)
    return environment.get_template("report.html.j2").render(
        facts=facts,
        charts=drawn,
        facts_json=_for_script(json.dumps(facts, separators=(",", ":"))),
        charts_json=_for_script(json.dumps(drawn, separators=(",", ":"))),
        library=vl_convert.javascript_bundle().replace("</script", "<\\/script"),
    )


def _figures(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}".replace("-", "−")


def _interval(ends: list[float] | None) -> str:
    return "–" if ends is None else f"{_figures(ends[0])} to {_figures(ends[1])}"


def _for_script(text: str) -> str:
    """JSON in which no browser finds the end of the script."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


__all__ = ["Explanation", "Report", "charts", "explain", "facts", "mean_columns", "report"]
