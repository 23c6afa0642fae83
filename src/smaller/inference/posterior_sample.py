"""Draws from the posterior of a model: intervals, probabilities, predictions, and whether they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from ..basis import finite_columns
from ..models.regression import target_offset
from ..models.targets import prediction_offset
from .diagnostics import Agreement, agreement, ess_of_mean, quantile_ess
from .fitted_problem import check_columns
from .links import LINKS

PREDICTING = 1000  # draws at most that predictions are averaged over
BLOCK = 2**22  # numbers in an array of rows x draws
CONDITIONAL = (
    "These intervals are conditional on the selected features and on the hyperparameters found: they are too short, "
    "and features that were not selected have none."
)
ASSUMED = (
    "Intervals assume the model, the prior and its strength; they do not account for choosing the strength or the "
    "basis on the same data."
)


@dataclass(frozen=True, eq=False)
class PosteriorSample:
    """Draws from the posterior, as :func:`sample_posterior` returns them.

    Attributes
    ----------
    coef : ndarray of shape (n_chains, n_draws, n_rows, n_columns)
        Weights, in the rows and columns of the model's ``coef_`` (one row in regression).
    intercept : ndarray of shape (n_chains, n_draws, n_rows)
    lam : ndarray of shape (n_chains, n_draws) or None
        The strength of the prior, where it was learned.
    noise : ndarray of shape (n_chains, n_draws) or None
        Variance of the noise, in regression.
    log_likelihood : ndarray of shape (n_chains, n_draws)
    mode : ndarray of shape (n_rows, n_columns)
        ``coef_`` of the model.
    names : list of str
        Of the columns.
    classes : ndarray or None
        The labels, in classification.
    scale : ndarray of shape (n_columns,)
        Standard deviations of the columns.
    settings : dict
        The prior and its strength, sweeps, warm-up, thinning, seed, acceptance of Ctrl-C ("interrupted").
    basis : fitted basis, that makes the columns of new inputs
    """

    coef: np.ndarray
    intercept: np.ndarray
    lam: np.ndarray | None
    noise: np.ndarray | None
    log_likelihood: np.ndarray
    mode: np.ndarray
    names: list[str]
    classes: np.ndarray | None
    scale: np.ndarray
    basis: Any
    settings: dict = field(default_factory=dict)

    def __post_init__(self):
        sides = self.coef.shape
        several = sides[2] if len(sides) == 4 else 0
        shapes = [
            len(sides) == 4 and self.intercept.shape == sides[:3] and self.log_likelihood.shape == sides[:2],
            all(each is None or each.shape == sides[:2] for each in (self.lam, self.noise)),
            self.mode.shape == sides[2:] and self.scale.shape == sides[3:] and len(self.names) == sides[-1],
            self.classes is None or several == (1 if len(self.classes) == 2 else len(self.classes)),
            bool(np.isfinite(self.coef).all() and np.isfinite(self.intercept).all()),
        ]
        if not all(shapes):
            raise ValueError(f"a sample's parts must be finite and of shapes that fit its weights, of shape {sides}")

    def __repr__(self) -> str:
        chains, draws, rows, columns = self.coef.shape
        of = f"{chains} chains x {draws} draws of {rows} x {columns} weights"
        return f"<PosteriorSample of {self.settings.get('model', 'a model')}: {of}>"

    @property
    def n_features_in_(self) -> int | None:
        """Inputs that the model was fitted on; None where that is not known."""
        return self.settings.get("n_features_in")

    @property
    def feature_names_in_(self) -> np.ndarray | None:
        """Their names, where the model was fitted on a data frame."""
        names = self.settings.get("feature_names_in")
        return None if names is None else np.asarray(names, dtype=object)

    @property
    def _centred(self) -> np.ndarray:
        """The weights, less their mean over several classes."""
        return self.coef - self.coef.mean(axis=2, keepdims=True) if self.coef.shape[2] > 1 else self.coef

    # -- the weights

    def mean(self) -> np.ndarray:
        """Posterior means of the weights, (n_rows, n_columns)."""
        return self.coef.mean(axis=(0, 1))

    def median(self) -> np.ndarray:
        """Posterior medians of the weights, (n_rows, n_columns)."""
        return np.median(self.coef, axis=(0, 1))

    def std(self) -> np.ndarray:
        """Posterior standard deviations of the weights, (n_rows, n_columns)."""
        return self.coef.std(axis=(0, 1))

    def interval(self, level: float = 0.95, centred: bool = False) -> np.ndarray:
        """Central intervals of the weights, (2, n_rows, n_columns): lower and upper ends.

        With `centred`, of the weights less their mean over several classes: what is added to a column's weights of all
        classes changes no probability, so that the data say nothing about that mean.
        """
        return np.quantile(self._centred if centred else self.coef, _ends(level), axis=(0, 1))

    def probability_of_sign(self) -> np.ndarray:
        """max(P(w > 0), P(w < 0)) of each weight, (n_rows, n_columns)."""
        positive, negative = (self.coef > 0).mean(axis=(0, 1)), (self.coef < 0).mean(axis=(0, 1))
        return np.maximum(positive, negative)

    def probability_above(self, eps: float = 0.1) -> np.ndarray:
        """P(|w| sd > eps) of each weight, sd the standard deviation of its column.

        In classification eps is a log odds for each standard deviation of the column. A continuous prior gives a weight
        of exactly 0 no probability, so that a size has to be named.
        """
        return (np.abs(self.coef) * self.scale > _size(eps)).mean(axis=(0, 1))

    def feature_probability_above(self, eps: float = 0.1) -> np.ndarray:
        """P(max_l |w_jl - mean_l w_jl| sd_j > eps) of each column, over the classes, in any parametrisation."""
        return (np.abs(self._centred).max(axis=2) * self.scale > _size(eps)).mean(axis=(0, 1))

    # -- predictions

    def _parts(self, X, offset):
        """Blocks of rows of X, and the scores (draws, rows, n_rows) of at most 1000 draws there."""
        Phi = finite_columns(self.basis, X)
        W = self.coef.reshape(-1, *self.coef.shape[2:])
        b = self.intercept.reshape(len(W), -1)
        chosen = np.unique(np.linspace(0, len(W) - 1, min(PREDICTING, len(W))).astype(int))
        W, b = W[chosen], b[chosen]
        flat = W.reshape(-1, W.shape[-1])
        step = max(1, BLOCK // max(1, flat.shape[0]))
        for part in (slice(i, i + step) for i in range(0, Phi.shape[0], step)):
            F = np.asarray(Phi[part] @ flat.T).reshape(-1, *W.shape[:2]).transpose(1, 0, 2) + b[:, None, :]
            yield part, F if offset is None else F + offset[part]

    def _rows(self, X) -> Any:
        """New inputs as a matrix of finite numbers, with the columns of the fit."""
        X = np.asarray(X)[None] if np.ndim(X) == 1 else X
        if self.n_features_in_ is not None:
            check_columns(self, X)
        return check_array(X, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], input_name="X")

    def _offset(self, offset, n: int) -> np.ndarray | None:
        """The known part of the scores in their columns."""
        rows = self.coef.shape[2]
        if offset is None or self.classes is not None:
            return None if offset is None else prediction_offset(offset, n, rows)
        return target_offset(np.asarray(offset), (n, rows) if rows > 1 else (n,)).reshape(n, rows)

    def predict_proba(self, X, offset=None, level: float | None = None) -> Any:
        """Class probabilities averaged over the draws, (n_samples, n_classes).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        offset : array-like, optional
            Known part of the scores.
        level : float, optional
            Also return the interval of each probability at this level, (2, n_samples, n_classes).
        """
        if self.classes is None:
            raise ValueError("predict_proba is for classes; this sample is of a regression, use predict.")
        X, quantiles = self._rows(X), None if level is None else _ends(level)
        offset = self._offset(offset, X.shape[0])
        mean = np.empty((X.shape[0], len(self.classes)))
        ends = np.empty((2, *mean.shape))
        for part, F in self._parts(X, offset):
            P = LINKS[self.settings.get("link", "softmax")](F)
            mean[part] = P.mean(axis=0)
            if quantiles is not None:
                ends[:, part] = np.quantile(P, quantiles, axis=0)
        return mean if level is None else (mean, ends)

    def predict(self, X, offset=None, level: float | None = None) -> Any:
        """The class of the greatest averaged probability, or the expected target.

        With `level`, in regression, also the interval of a new observation, (2, n_samples). Several targets have a
        column each.
        """
        if self.classes is not None:
            if level is not None:
                raise ValueError("A class has no interval; predict_proba takes level, for intervals of probabilities.")
            return self.classes[self.predict_proba(X, offset).argmax(axis=1)]
        X, quantiles = self._rows(X), None if level is None else _ends(level)
        offset, shape = self._offset(offset, X.shape[0]), (X.shape[0], self.coef.shape[2])
        mean, ends = np.empty(shape), np.empty((2, *shape))
        rng = np.random.default_rng(0)
        for part, F in self._parts(X, offset):
            mean[part] = F.mean(axis=0)
            if quantiles is not None and self.noise is not None:
                chosen = np.unique(np.linspace(0, self.noise.size - 1, len(F)).astype(int))
                new = F + np.sqrt(self.noise.ravel()[chosen])[:, None, None] * rng.standard_normal(F.shape)
                ends[:, part] = np.quantile(new, quantiles, axis=0)
        mean, ends = (mean[:, 0], ends[:, :, 0]) if shape[1] == 1 else (mean, ends)
        return mean if level is None else (mean, ends)

    # -- diagnostics

    @property
    def _quantities(self) -> tuple[np.ndarray, list[str]]:
        """What is diagnosed, (chains, draws, q), and its names: weights, less their mean over symmetric classes."""
        W = self.coef
        if W.shape[2] > 1 and W.any(axis=(0, 1, 3)).all():
            W = self._centred
        rows = np.flatnonzero(W.any(axis=(0, 1, 3)))
        columns = np.flatnonzero(W.any(axis=(0, 1, 2)))
        W = W[:, :, rows][:, :, :, columns]
        several = self.classes is not None and W.shape[2] > 1
        labels = [f" ({label})" for label in np.asarray(self.classes)[rows]] if several else [""]
        names = [f"the weight of {self.names[j]}{label}" for label in labels for j in columns]
        parts = [W.reshape(*W.shape[:2], -1), self.log_likelihood[..., None]]
        names.append("the log-likelihood")
        level = self.intercept - self.intercept.mean(axis=2, keepdims=True) if several else self.intercept
        parts.append(level)
        names += [f"the intercept ({each})" for each in np.asarray(self.classes)] if several else ["the intercept"]
        for values, name in ((self.lam, "the strength"), (self.noise, "the noise")):
            if values is not None:
                parts.append(values[..., None])
                names.append(name)
        return np.concatenate(parts, axis=2), names

    @cached_property
    def _agreement(self) -> tuple[Agreement, list[str]]:
        draws, names = self._quantities
        return agreement(draws), names

    @property
    def diagnostics(self) -> dict[str, Any]:
        """The largest R-hat, the smallest bulk and tail effective sample sizes, and the quantity with the smallest."""
        found, names = self._agreement
        return {
            "rhat": float(found.rhat.max()),
            "ess_bulk": float(found.bulk.min()),
            "ess_tail": float(found.tail.min()),
            "worst": names[int(np.argmin(found.least))],
        }

    @property
    def converged(self) -> bool:
        """Whether R-hat is at most 1.01 and every effective sample size at least 400."""
        return bool(self.settings.get("conditional")) or self._agreement[0].good_enough

    def monte_carlo_error(self, probability: float | None = None) -> np.ndarray:
        """Monte Carlo standard errors of the posterior means, or of a quantile, of the weights: (n_rows, n_columns)."""
        draws = self.coef.reshape(*self.coef.shape[:2], -1)
        shape = self.coef.shape[2:]
        if probability is None:
            return (draws.std(axis=(0, 1)) / np.sqrt(ess_of_mean(draws))).reshape(shape)
        # The quantiles one standard error of the indicator's mean below and above (Vehtari et al. 2021, section 4.3).
        error = np.sqrt(probability * (1 - probability) / quantile_ess(draws, probability))
        flat = np.sort(draws.reshape(-1, draws.shape[2]), axis=0)
        places = np.clip(np.array([probability - error, probability + error]), 0, 1) * (len(flat) - 1)
        low, high = (flat[np.round(place).astype(int), np.arange(flat.shape[1])] for place in places)
        return ((high - low) / 2).reshape(shape)

    # -- words and files

    def sentence(self) -> str:
        """What was drawn, whether it can be trusted, and what it assumes."""
        settings = self.settings
        if settings.get("conditional"):
            return f"{self.coef.shape[1]} draws of the normal approximation at the fitted model. {CONDITIONAL}"
        found, chains, draws = self.diagnostics, *self.coef.shape[:2]
        zeros, total = int((self.mode == 0).sum()), self.mode.size
        least = min(found["ess_bulk"], found["ess_tail"])
        parts = [
            f"{chains} chains of {draws} draws, from {settings['sweeps']} sweeps each after {settings['warmup']} of "
            f"warm-up, random_state={settings['random_state']}; R-hat at most {found['rhat']:.3f}, smallest effective "
            f"sample size {least:.0f} ({found['worst']})."
        ]
        if settings["interrupted"]:
            parts.append("Sampling was interrupted; these are the draws made by then.")
        if not self.converged:
            parts.append("The chains have NOT converged well enough for intervals to be relied on.")
        if zeros:
            parts.append(
                f"The fitted model sets {zeros} of these {total} weights to exactly zero. That is a choice made for "
                "sparsity: the data still allow values in the interval shown."
            )
        return " ".join([*parts, ASSUMED])

    def table(self, level: float = 0.95, eps: float = 0.1) -> list[dict[str, Any]]:
        """A row for each weight: mean, Monte Carlo error, deviation, interval, sign and size probabilities."""
        low, high = self.interval(level)
        found = {
            "mean": self.mean(),
            "error": self.monte_carlo_error(),
            "std": self.std(),
            "lower": low,
            "upper": high,
            "sign": self.probability_of_sign(),
            "above": self.probability_above(eps),
            "mode": self.mode,
        }
        labels: list[Any] = [None] if self.coef.shape[2] == 1 else list(self.classes)  # type: ignore[arg-type]
        return [
            {"feature": self.names[j], "class": label, **{name: float(values[r, j]) for name, values in found.items()}}
            for j in range(self.coef.shape[3])
            for r, label in enumerate(labels)
        ]

    def to_arviz(self) -> Any:
        """The draws as arviz.InferenceData: coef, intercept, lam, noise."""
        try:
            import arviz
        except ImportError:
            raise ImportError('to_arviz needs arviz; install it with: pip install "smaller[posterior]"') from None
        found = {"coef": self.coef, "intercept": self.intercept, "lam": self.lam, "noise": self.noise}
        labels = ["score"] if self.classes is None or self.coef.shape[2] == 1 else [str(each) for each in self.classes]
        return arviz.from_dict(
            posterior={name: values for name, values in found.items() if values is not None},
            coords={"row": labels, "column": list(self.names)},
            dims={"coef": ["row", "column"], "intercept": ["row"]},
        )


def _ends(level: float) -> list[float]:
    """The probabilities below the ends of a central interval."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1; got {level}. For 95 % intervals give 0.95.")
    return [(1 - level) / 2, (1 + level) / 2]


def _size(eps: float) -> float:
    if not (isinstance(eps, Real) and eps >= 0):
        raise ValueError(f"eps is the size of a weight, a number of at least 0; got {eps}.")
    return eps
