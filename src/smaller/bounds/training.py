"""Bounds from the training sample: PAC-Bayes, Rademacher, and the choice of a strength by its bound."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from ..errors import EmptyModelWarning
from ..errors import choose as choose_from
from . import gibbs_risk as risks
from .admission import Case, admit, refuse_kind
from .divergence import kl_inverse
from .gibbs_risk import GibbsRisk, LaplacePosterior
from .results import INDEPENDENT, Choice, PACBayes, Rademacher, check_delta

GRID = tuple(10.0 ** np.linspace(-3, 3, 25))  # strengths fixed without data
DRAWS = 50_000  # total number of draws by default
DRAWN_SHARE = 0.1  # of delta, for the confidence term of Monte Carlo

SHARPER = tuple(2.0 ** np.arange(0.0, 6.1, 0.5))  # factors of the rates that "least-bound" tries

# B(n) in ln(B(n) / delta): Langford and Seeger 2001 and Seeger 2002; Maurer 2004 (n >= 8, and by
# computation below that).
FORMS: dict[str, Callable[[int], float]] = {
    "maurer": lambda n: 2.0 * np.sqrt(n),
    "langford-seeger": lambda n: n + 1.0,
}

DECLARED = "nothing in the prior ({prior}) was chosen by looking at these samples"
COLUMNS = "neither were the columns of X, their scaling included"


def pac_bayes(
    model,
    X,
    y,
    delta: float = 0.05,
    *,
    form: str = "maurer",
    gibbs: str = "auto",
    rates: str = "least-kl",
    prior: float | None = None,
    intercept_prior: float | None = None,
    draws: int | None = None,
    random_state=0,
) -> PACBayes:
    """The PAC-Bayes bound on the true error of a fitted SMLR (Krishnapuram et al. 2005, theorem 2).

    With probability at least 1 - delta over samples, for all posteriors q at once, ::

        kl( R_sample(q) || R_true(q) ) <= [ KL(q || p) + ln(B(n) / delta) ] / n,

    R(q) being the error rate of the Gibbs classifier, which draws new weights from q for every prediction (the paper
    has the arguments of kl the wrong way round). q are independent Laplace densities about the fitted weights, as near
    as can be to the prior p, which are those of rate ``lam`` about 0. Where the model errs, so do at least half of the
    weights drawn; so its error rate is at most twice that of the Gibbs classifier, for any number of classes.

    Parameters
    ----------
    model : SMLR
        Fitted, on a linear or polynomial basis; or SMLRCV, if ``prior`` is declared.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), array-like of shape (n_samples,)
        The sample on which the model was fitted. Any other independent sample is as valid.
    delta : float, default=0.05
        The probability with which the bound may fail.
    form : {"maurer", "langford-seeger"}, default="maurer"
        B(n) is 2 sqrt(n), or the paper's n + 1.
    gibbs : {"auto", "exact", "gaussian", "monte-carlo"}, default="auto"
        The Gibbs risk on the sample: by quadrature (two classes), by the normal approximation (two classes, and then
        there is no guarantee), or by drawing weights, whose confidence term takes a tenth of delta. "auto" is
        "exact" for two classes, else "monte-carlo".
    rates : {"least-kl", "least-bound"}, default="least-kl"
        Rates of the posterior: those that minimise its divergence from the prior, as in the paper; or the
        best of those multiplied by a few common factors, often a much better bound, and as valid since the theorem
        holds for all posteriors at once.
    prior : float, optional
        Rate of a Laplace prior on every weight, declared in place of the model's own ``lam * penalty_factor``; then the
        model may have chosen its strength in any way.
    intercept_prior : float, optional
        Rate of a Laplace prior on the intercept, which a model with an intercept needs.
    draws : int, optional
        Weights drawn for each sample; as many as give 50 000 in all.
    random_state : int, RandomState or None, default=0
        Of the draws. It must be chosen without looking at the bound.

    Returns
    -------
    PACBayes

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import SMLR, bounds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    >>> model = SMLR(lam=3.0, fit_intercept=False).fit(X, y)
    >>> found = bounds.pac_bayes(model, X, y)
    >>> print(found.sentence)
    With probability ≥ 0.95 over training sets, true error ≤ 0.372 (Gibbs 0.186 doubled; KL 28.1 nats; n 2 000).
    """
    check_delta(delta)
    choose_from("form", form, FORMS)
    choose_from("rates", rates, ("least-kl", "least-bound"))
    case = admit(model, X, y, prior, intercept_prior)
    series = _sharpened(case.posterior) if rates == "least-bound" else [[case.posterior]]
    candidates = sum(map(len, series))  # delta is divided among all candidates of Monte Carlo
    drawing = {"share": delta * DRAWN_SHARE / candidates, "draws": draws, "random_state": random_state}

    def tried(posterior: LaplacePosterior) -> tuple[float, GibbsRisk, LaplacePosterior]:
        risk = _gibbs_risk(case._replace(posterior=posterior), gibbs, **drawing)
        left = delta - candidates * risk.spent
        return kl_inverse(risk.risk, budget(posterior.kl, case.n, left, form)), risk, posterior

    limit, risk, posterior = min((_descend(tried, one) for one in series), key=lambda found: found[0])
    return PACBayes(
        bound=min(1.0, 2.0 * limit),
        delta=delta,
        n=case.n,
        assumptions=(INDEPENDENT, DECLARED.format(prior=case.prior), COLUMNS, *_about_risk(risk)),
        gibbs_bound=limit,
        gibbs=risk,
        kl=posterior.kl,
        form=form,
        posterior=posterior,
    )


def budget(kl: float, n: int, delta: float, form: str = "maurer") -> float:
    """[ KL + ln(B(n) / delta) ] / n, the upper limit of kl(R_sample || R_true) in the PAC-Bayes theorem."""
    return float((kl + np.log(FORMS[form](n) / delta)) / n)


def rademacher(
    model,
    X,
    y,
    delta: float = 0.05,
    *,
    margin: float = 1.0,
    g0: float = 1.0,
    ratio: float = 2.0,
    gibbs: str = "exact",
    prior: float | None = None,
    intercept_prior: float | None = None,
) -> Rademacher:
    """The Rademacher bound on the true error of a fitted two-class SMLR (Krishnapuram et al. 2005, theorem 1).

    With probability at least 1 - delta over samples, ::

        R_true <= R_s + (2 / s) sqrt(2 g / n) + sqrt( (ln log_r(r g / g0) + ln(1 / delta) / 2) / n ),

    g = r max(KL, g0), and R_s the mean of the clipped loss min(1, max(0, 1 - a / s)) of the margins
    a = y E_q sign(w.x). Nothing is doubled: the mean vote of a symmetric posterior decides as the model does (lemma 1).

    Parameters
    ----------
    model, X, y, delta, prior, intercept_prior
        As in :func:`pac_bayes`.
    margin, g0, ratio : float
        s, g0 and r > 1, fixed in advance.
    gibbs : {"exact", "gaussian"}, default="exact"
        How E_q sign(w.x) is computed; by the normal approximation there is no guarantee.

    Returns
    -------
    Rademacher

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import SMLR, bounds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    >>> model = SMLR(lam=3.0, fit_intercept=False).fit(X, y)
    >>> round(float(bounds.rademacher(model, X, y)), 2)
    0.73
    """
    check_delta(delta)
    choose_from("gibbs", gibbs, ("exact", "gaussian"))
    if not (margin > 0 and g0 > 0 and ratio > 1):
        raise ValueError(f"margin and g0 must be positive and ratio above 1; got {margin!r}, {g0!r}, {ratio!r}.")
    case = admit(model, X, y, prior, intercept_prior)
    _need_two_classes("The Rademacher bound", case.m, "use pac_bayes")
    n, kl = case.n, case.posterior.kl
    margins = 1.0 - 2.0 * risks.error_rates(case.posterior, case.Phi, case.codes, normal=gibbs == "gaussian")
    loss = float(np.clip(1.0 - margins / margin, 0.0, 1.0).mean())
    g = ratio * max(kl, g0)
    complexity = 2.0 / margin * np.sqrt(2.0 * g / n)
    confidence = np.sqrt((np.log(np.log(ratio * g / g0) / np.log(ratio)) + 0.5 * np.log(1.0 / delta)) / n)
    fixed = f"margin={margin:.3g}, g0={g0:.3g} and ratio={ratio:.3g} were fixed in advance"
    return Rademacher(
        bound=min(1.0, float(loss + complexity + confidence)),
        delta=delta,
        n=n,
        assumptions=(INDEPENDENT, DECLARED.format(prior=case.prior), COLUMNS, fixed),
        margin_loss=loss,
        complexity=float(complexity),
        confidence=float(confidence),
        margin=margin,
        kl=kl,
        certain=gibbs == "exact",
    )


def choose(model, X, y, lams=GRID, delta: float = 0.05, **options) -> Choice:
    """Fit an SMLR at every strength of a grid and take the one with the least PAC-Bayes bound.

    Each bound is computed at delta / L, L being the number of strengths, so that all hold at once with probability
    1 - delta and the least of them holds too.

    Parameters
    ----------
    model : SMLR
        Its parameters other than ``lam`` are used; it need not be fitted and stays as it is.
    X, y : array-like or sparse matrix of shape (n_samples, n_features), array-like of shape (n_samples,)
    lams : array-like
        Strengths fixed without looking at the samples; by default 25 from 0.001 to 1000.
    delta : float, default=0.05
    **options
        Of :func:`pac_bayes`: ``form``, ``gibbs``, ``intercept_prior``, ...

    Returns
    -------
    Choice

    Examples
    --------
    >>> import numpy as np
    >>> from smaller import SMLR, bounds
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    >>> found = bounds.choose(SMLR(fit_intercept=False), X, y, lams=[1, 4, 16, 64])
    >>> found.lam, found.model.support_.tolist()
    (4.0, [0, 1, 2, 3, 4])
    """
    check_delta(delta)
    refuse_kind(model)
    if not hasattr(model, "lam"):
        raise ValueError(f"choose varies the strength lam; pass an SMLR in place of {type(model).__name__}.")
    lams = _fixed_grid(lams)
    models, found = [], []
    for lam in lams:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmptyModelWarning)  # the largest strengths of the grid may keep no column
            models.append(clone(model).set_params(lam=float(lam)).fit(X, y))
        found.append(pac_bayes(models[-1], X, y, delta / len(lams), **options))
    # Bounds are cut off at 1, so the Gibbs bounds are compared.
    least = int(np.argmin([result.gibbs_bound for result in found]))
    best = found[least]
    return Choice(
        bound=best.bound,
        delta=delta,
        n=best.n,
        assumptions=(*best.assumptions, f"the {len(lams)} strengths were fixed in advance as well"),
        lam=float(lams[least]),
        model=models[least],
        models=tuple(models),
        best=best,
        lams=lams,
        results=tuple(found),
    )


# -- what they share


def _sharpened(posterior: LaplacePosterior) -> list[list[LaplacePosterior]]:
    """Narrower and narrower posteriors: the rates of all weights a factor higher, or of those that are not 0."""
    kept = posterior.mean != 0
    which = [kept] if kept.all() else [np.ones_like(kept), kept]
    return [[posterior._replace(rate=posterior.rate * np.where(w, f, 1.0)) for f in SHARPER] for w in which]


def _descend(tried: Callable, series: list) -> tuple:
    """The best of a series, which is tried until the bound rises."""
    best = tried(series[0])
    for member in series[1:]:
        found = tried(member)
        if found[0] > best[0]:
            break
        best = found
    return best


def _gibbs_risk(case: Case, method: str, share: float, draws: int | None, random_state) -> GibbsRisk:
    """The Gibbs risk on the sample; Monte Carlo may fail with probability ``share``."""
    choose_from("gibbs", method, ("auto", "exact", "gaussian", "monte-carlo"))
    if method == "monte-carlo" or (method == "auto" and case.m > 2):
        each = -(-DRAWS // case.n) if draws is None else draws
        if each < 1:
            raise ValueError(f"draws must be at least 1; got {draws!r}.")
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        return risks.monte_carlo(case.posterior, case.Phi, case.codes, each, share, rng)
    _need_two_classes(f"gibbs={method!r}", case.m, "use gibbs='monte-carlo'")
    compute = risks.gaussian if method == "gaussian" else risks.exact
    return compute(case.posterior, case.Phi, case.codes)


def _about_risk(risk: GibbsRisk) -> tuple[str, ...]:
    if not risk.certain:
        return ("the scores of drawn weights are normal, which is an approximation",)
    return ("the seed of the draws was not chosen by looking at the bound",) if risk.spent else ()


def _need_two_classes(what: str, m: int, remedy: str) -> None:
    if m > 2:
        raise ValueError(f"{what} is for two classes, and the model has {m}; {remedy}.")


def _fixed_grid(lams) -> np.ndarray:
    if np.ndim(lams) == 0:
        raise ValueError(
            f"lams must be a list of strengths; got {lams!r}. A grid from the largest useful strength down would "
            "depend on the data, and a bound holds only for strengths fixed without them."
        )
    grid = np.unique(np.asarray(lams, dtype=np.float64))
    if not len(grid) or not np.isfinite(grid).all() or grid[0] <= 0:
        raise ValueError(f"lams must be positive and finite; got {lams!r}.")
    return grid
