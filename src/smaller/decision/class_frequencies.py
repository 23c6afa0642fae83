"""Classes that are more or less frequent in operation than in training: estimate, test and correct the priors.

With unchanged class densities p(x | k), probabilities learnt at priors t_k become, at priors o_k,
P_o,ik = P_ik o_k / t_k / sum_j P_ij o_j / t_j (Saerens, Latinne & Decaestecker 2002; Cawley et al. 2006, eq. 6).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import nnls
from scipy.special import chdtrc

from ..errors import ConvergenceWarning, choose, warn
from . import checks


class PriorEstimate(NamedTuple):
    """Estimated priors with their certificate.

    Attributes
    ----------
    priors : ndarray of shape (n_classes,)
    n_iter : int
    gap : float
        The mean log-likelihood, in nats, is below its maximum by at most this.
    converged : bool
        Whether the gap reached tol.
    log_likelihood_ratio : float
        log L(priors) - log L(training priors), summed over the samples.
    """

    priors: np.ndarray
    n_iter: int
    gap: float
    converged: bool
    log_likelihood_ratio: float


class ShiftTest(NamedTuple):
    """Likelihood ratio test of "the priors are those of training".

    Attributes
    ----------
    statistic : float
        2 log L(estimated priors) / L(training priors).
    dof : int
        Degrees of freedom, n_classes - 1.
    p_value : float
    priors : ndarray of shape (n_classes,)
        The estimate.
    """

    statistic: float
    dof: int
    p_value: float
    priors: np.ndarray


def shift_priors(P, priors, training_priors, *, classes=None) -> np.ndarray:
    """Probabilities at other priors, ``P_ik o_k / t_k``, each row divided by its sum.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities, learnt at the training priors.
    priors : array-like of shape (n_classes,) or dict
        Operational priors o; 0 rules a class out. A sample for which every possible class is ruled out gets the priors
        themselves.
    training_priors : array-like of shape (n_classes,) or dict
        Training priors t, positive.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P, by which a dict names priors; None is 0, 1, ...

    Returns
    -------
    P : ndarray of shape (n_samples, n_classes)

    Examples
    --------
    >>> from smaller.decision import shift_priors
    >>> shift_priors([[0.5, 0.5]], priors=[0.9, 0.1], training_priors=[0.5, 0.5])
    array([[0.9, 0.1]])
    """
    P = checks.probabilities(P)
    classes = checks.labels_of(classes, P.shape[1])
    new = checks.priors(priors, classes, "priors")
    return shifted(P, new, checks.priors(training_priors, classes, "training_priors", positive=True))


def shifted(P: np.ndarray, priors: np.ndarray, training_priors: np.ndarray) -> np.ndarray:
    """`shift_priors` of checked arguments; equal priors return P itself, without rounding."""
    if np.array_equal(priors, training_priors):
        return P
    Q = P * (priors / training_priors)
    total = Q.sum(axis=1, keepdims=True)
    possible = total > 0
    return np.where(possible, Q / np.where(possible, total, 1.0), priors)


def estimate_priors(
    P,
    training_priors,
    *,
    classes=None,
    sample_weight=None,
    pseudo_count=0.0,
    algorithm="newton",
    tol=1e-8,
    max_iter=None,
) -> PriorEstimate:
    """Maximum likelihood estimate of the operational priors from unlabelled samples.

    Maximises over distributions o the mean of ``log sum_k o_k P_ik / t_k``, which is concave. With g_k its derivative
    by o_k, the optimum has g_k <= 1, with equality where o_k > 0; anywhere, the maximum is at most max_k g_k - 1 above.
    That gap is the certificate, whichever algorithm ran.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities of the operational samples, learnt at the training priors and calibrated.
    training_priors : array-like of shape (n_classes,) or dict
        Positive.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P, by which a dict names priors; None is 0, 1, ...
    sample_weight : array-like of shape (n_samples,), default=None
    pseudo_count : float, default=0.0
        Samples of known class to add, as many of each (a Dirichlet prior). At 0 a class may be found absent: its
        probability is then 0 everywhere, and the log-loss of a sample of it infinite.
    algorithm : {"newton", "em"}, default="newton"
        "em" is that of Saerens et al. (2002), o_k <- o_k g_k, slow where a class is nearly absent. "newton" follows
        each EM step with a constrained Newton step, and needs about a dozen.
    tol : float, default=1e-8
        Gap at which the estimate ends.
    max_iter : int, default=None
        None is 100 for "newton" and 10000 for "em".

    Returns
    -------
    PriorEstimate

    Examples
    --------
    >>> from smaller.decision import estimate_priors
    >>> P = [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.2, 0.8]]
    >>> estimate_priors(P, [0.5, 0.5]).priors.round(3)
    array([0.911, 0.089])
    """
    P = checks.probabilities(P)
    classes = checks.labels_of(classes, P.shape[1])
    training = checks.priors(training_priors, classes, "training_priors", positive=True)
    weight = checks.sample_weights(sample_weight, len(P))
    if not checks.number("tol", tol) > 0 or not (max_iter is None or max_iter >= 1):
        raise ValueError(f"tol must be positive and max_iter at least 1; got tol={tol!r} and max_iter={max_iter!r}.")
    return estimated(P, training, weight, pseudo_count, algorithm, tol, max_iter)


def estimated(P, training, weight, pseudo_count=0.0, algorithm="newton", tol=1e-8, max_iter=None) -> PriorEstimate:
    """`estimate_priors` of checked arguments."""
    choose("algorithm", algorithm, ALGORITHMS)
    step, iterations = ALGORITHMS[algorithm]
    Q, share = _with_known(P, weight, pseudo_count)
    Q /= training
    priors, n_iter = training.copy(), 0
    while True:
        S = Q @ priors
        g = Q.T @ (share / S)
        gap = max(float(g.max() - 1.0), 0.0)
        if gap <= tol or n_iter == (max_iter or iterations):
            break
        priors = step(Q, share, priors, g)
        n_iter += 1
    if gap > tol:
        warn(
            f"The estimate of the priors stopped after {n_iter} iterations at most {gap:.1e} nats per sample below the "
            f"maximum likelihood, before it reached tol={tol:.1e}; raise max_iter or tol"
            f"{'' if step is _newton else ', or use algorithm=' + repr('newton')}.",
            ConvergenceWarning,
        )
    gain = _log_likelihood(P / training, weight, priors) - _log_likelihood(P / training, weight, training)
    return PriorEstimate(priors, n_iter, gap, gap <= tol, gain)


def _with_known(P, weight, pseudo_count: float) -> tuple[np.ndarray, np.ndarray]:
    """The samples, and with a pseudo_count samples of known class, with their shares of the total weight."""
    if not (np.isfinite(pseudo_count) and pseudo_count >= 0):
        raise ValueError(f"pseudo_count must be a finite number that is not negative; got {pseudo_count!r}.")
    K = P.shape[1] if pseudo_count else 0
    weight = np.append(weight, np.full(K, pseudo_count))
    rows = weight > 0
    return np.vstack([P, np.eye(P.shape[1])[:K]])[rows], weight[rows] / weight.sum()


def _log_likelihood(Q, weight, priors) -> float:
    """sum_i s_i log sum_k Q_ik o_k; -inf where a sample is impossible at these priors."""
    rows = weight > 0
    with np.errstate(divide="ignore"):
        return float(weight[rows] @ np.log(Q[rows] @ priors))


def _em(Q, share, priors, g) -> np.ndarray:
    """o_k <- mean_i P_o,ik = o_k g_k (Cawley et al. 2006, eq. 6)."""
    priors = priors * g
    return priors / priors.sum()


def _newton(Q, share, priors, g) -> np.ndarray:
    """An EM step, then a constrained Newton step from there with a line search.

    Minimises the quadratic model of -mean log(Q o) + sum_k o_k over o >= 0; there H o = g, so that it is
    o' H o / 2 - o' (2 g - 1), a non-negative least squares problem in the Cholesky factor of H. (With the sum
    added, the optimum sums to one by itself.)
    """
    priors = _em(Q, share, priors, g)
    A = Q / (Q @ priors)[:, None]
    H, g = A.T @ (A * share[:, None]), A.T @ share
    H[np.diag_indices_from(H)] += 1e-12 * np.trace(H)
    try:
        L = cholesky(H, lower=True)
        aim, _ = nnls(L.T, solve_triangular(L, 2.0 * g - 1.0, lower=True))
    except (LinAlgError, RuntimeError):
        return priors
    if not aim.sum() > 0:
        return priors
    return _best_between(Q, share, priors, aim / aim.sum())


def _best_between(Q, share, priors, aim) -> np.ndarray:
    """The first of the full step, its half, its quarter, ... that raises the likelihood; else none."""
    here = _log_likelihood(Q, share, priors)
    for halvings in range(30):
        trial = priors + 0.5**halvings * (aim - priors)
        if _log_likelihood(Q, share, trial) > here:
            return trial
    return priors


def shift_test(P, training_priors, *, classes=None, sample_weight=None) -> ShiftTest:
    """Test whether the priors of unlabelled samples differ from those of training.

    The statistic 2 log L(estimated priors) / L(training priors) has, if they do not differ, asymptotically a chi-square
    distribution with n_classes - 1 degrees of freedom (Saerens et al. 2002). That assumes independent
    samples, unchanged class densities, and *calibrated* probabilities: an overconfident classifier makes the test
    report shifts that do not exist. Use probabilities of samples that it was not trained on.

    Parameters
    ----------
    P : array-like of shape (n_samples, n_classes)
        Class probabilities of the operational samples.
    training_priors : array-like of shape (n_classes,) or dict
        Positive.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns of P, by which a dict names priors; None is 0, 1, ...
    sample_weight : array-like of shape (n_samples,), default=None

    Returns
    -------
    ShiftTest

    Examples
    --------
    >>> from smaller.decision import shift_test
    >>> found = shift_test([[0.9, 0.1]] * 20 + [[0.1, 0.9]] * 4, [0.5, 0.5])
    >>> print(f"statistic {found.statistic:.1f}, p = {found.p_value:.4f}")
    statistic 11.6, p = 0.0006
    """
    found = estimate_priors(P, training_priors, classes=classes, sample_weight=sample_weight)
    return as_test(found)


def as_test(found: PriorEstimate) -> ShiftTest:
    """The likelihood ratio test of an estimate."""
    statistic, dof = max(2.0 * found.log_likelihood_ratio, 0.0), len(found.priors) - 1
    return ShiftTest(statistic, dof, float(chdtrc(dof, statistic)), found.priors)


ALGORITHMS = {"newton": (_newton, 100), "em": (_em, 10_000)}
