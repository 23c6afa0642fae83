"""Likelihoods: functions of the scores F (n, k) and the targets Y (n, k) alone, in nats, weighted by s (n,).

Each offers, for the objective and the solvers,

- ``fit(F, Y, s)``: fitted means P, the gradient U of a sample's loss in its scores, and the negative log-likelihood;
- ``curvature(P, s, l, r)``: the weights of the Hessian block of columns l and r, and ``curve(P, s, E)``, its action;
- ``conjugate(U, Y, s, rho)``: sum_i s_i f_i*(rho U_i), f_i the loss of row i: the likelihood's part of the dual;
- ``bound``: an upper bound of the second derivative of a sample's loss, for EM.
"""

from .gaussian import Gaussian
from .probit import Probit, hazard
from .softmax import Multinomial, one_hot

__all__ = ["Gaussian", "Multinomial", "Probit", "hazard", "one_hot"]
