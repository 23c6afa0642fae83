"""The judge of groups: softmax with norms of groups of columns beside L1 and ridge terms, from their definitions."""

from copy import copy

import numpy as np
from scipy.optimize import brentq

from .judges import Softmax

STEPS = 2000  # of the independent solver
FEWER = 400  # and on the way there


class GroupedSoftmax(Softmax):
    """The objective of `Softmax` plus sum_g tau_g ||unit W_g||, W_g the weights of group g in all scored classes."""

    def __init__(self, *problem, labels, tau, unit):
        super().__init__(*problem)
        self.unit = np.broadcast_to(unit, self.l1.shape)
        self.groups = [(np.flatnonzero(labels == g), float(tau[g])) for g in np.unique(labels) if tau[g] > 0]
        for columns, _ in self.groups:
            self.free[:, columns] = False

    def penalty(self, W):
        norms = sum(tau * np.linalg.norm((W * self.unit)[:, columns]) for columns, tau in self.groups)
        return super().penalty(W) + float(norms)

    def _parts(self, G):
        """Of each group, in the units of its norm: gradient, L1 and ridge strengths, tau."""
        for columns, tau in self.groups:
            unit = self.unit[:, columns]
            parts = G[:, columns] / unit, self.l1[:, columns] / unit, self.l2[:, columns] / unit**2
            yield *(part.ravel() for part in parts), tau

    def _single(self):
        """Which weights are in no group."""
        out = np.ones(self.l1.shape, dtype=bool)
        for columns, _ in self.groups:
            out[:, columns] = False
        return out

    def dual(self, W, b):
        R, G, known = self._dual_terms(W, b)
        single = self._single()
        every, unridged = [1.0], [1.0]
        for z, a, q, tau in self._parts(G):
            size = _dual_norm(z, a, tau)
            every.append(size)
            if not q.any():
                unridged.append(size)
        for which, sizes in ((single & ~self.free, every), (single & (self.l1 > 0) & (self.l2 == 0), unridged)):
            over = np.abs(G[which]) > self.l1[which]
            with np.errstate(divide="ignore"):
                sizes.extend(np.abs(G[which])[over] / self.l1[which][over])
        return max(self._dual_with_groups(R, G, 1.0 / max(sizes), known, single) for sizes in (every, unridged))

    def _dual_with_groups(self, R, G, rho, known, single):
        kept = self.l2
        self.l2 = np.where(single, self.l2, 0.0)
        value = self._dual_at(R, np.abs(G), rho, known)
        self.l2 = kept
        return value - sum(_conjugate(rho * z, a, q, tau) for z, a, q, tau in self._parts(G) if q.any())

    def rounding(self, W, b):
        """As in `Softmax`, by groups: E is the length of the errors of the gradient in a group."""
        E = self.gradient_rounding(W, b, self._centre())
        G, single = self.centred_slope(self.residual(self.scores(W, b))), self._single()
        sparse, ridged = single & (self.l1 > 0) & (self.l2 == 0), single & (self.l2 > 0)
        worst, ridge = (E[sparse] / self.l1[sparse]).max(initial=0.0), 0.0
        over = np.maximum(np.abs(G[ridged]) - self.l1[ridged], 0.0)
        ridge += float(((over + E[ridged] / 2) * E[ridged] / self.l2[ridged]).sum())
        for (z, a, q, tau), (e, *_) in zip(self._parts(G), self._parts(E), strict=True):
            length = np.linalg.norm(e)
            if q.any():
                ridge += (max(np.linalg.norm(_soft(z, a)) - tau, 0.0) + length / 2) * length / q.min()
            else:
                worst = max(worst, length / tau)
        worst = float(worst)
        shrinkage = max(worst * self.penalty(W), self.lost_by_shrinking(W, b, worst))
        return self.value_rounding(W, b) + shrinkage + float(ridge)

    def improve(self, W, b, enough):
        """Newton steps on the weights that are not 0, then accelerated proximal steps and Newton steps from there."""
        best, bound = self.value(W, b), self.lower_bound(W, b)
        for start in (lambda: (W, b), lambda: self._proximal(W, b, enough), lambda: self._cooled(W, b, enough)):
            V, c, slack = self.settle(*self._newton(*start()))
            best, bound = min(best, self.value(V, c)), max(bound, self.dual(V, c) - slack)
            if best - bound <= enough:
                break
        return best, bound, best - bound <= enough

    def _cooled(self, W, b, enough):
        """Solutions at ever lower temperatures T of a loss T loss(F / T): at 1, offsets of 1e6 leave kinks only.

        Norms and L1 terms are homogeneous, so that W / T solves the problem of offsets / T and ridge terms * T.
        """
        T = max(1.0, float(np.abs(self.shift).max()) / 10)
        W, b = W / T, b / T
        while True:
            part = copy(self)
            part.shift, part.l2 = self.shift / T, self.l2 * T
            W, b = part._newton(*part._proximal(W, b, enough / T, STEPS if T == 1 else FEWER))
            if T == 1:
                return W, b
            lower = max(1.0, T / 10)
            W, b, T = W * (T / lower), b * (T / lower), lower

    def _newton(self, W, b, steps=100):
        """Damped Newton steps on the weights that are not 0 and the free ones, where the norms are smooth."""
        W, b, value, damping = W.copy(), b.copy(), self.value(W, b), 0.0
        for _ in range(steps):
            R = self.residual(self.scores(W, b))
            active = (W != 0) | self.free
            if not active.any() and not self.intercept:
                break  # no weight to step on
            A = self._free_columns(active)
            pull, curved = self._norms_derivatives(W)
            G = self.slope(R)[0] + self.l2 * W + self.l1 * np.sign(W) + pull
            g = np.append(G[active], self.slope(R)[1] if self.intercept else [])
            H = self._curvature(R, A) + np.diag(np.append(self.l2[active], np.zeros(len(g) - active.sum())))
            at = np.flatnonzero(active.ravel())
            H[: len(at), : len(at)] += curved[np.ix_(at, at)]
            unit = np.sqrt(np.maximum(np.diag(H), 1e-200))
            lower, moved = self._damped(
                W, b, value, active, np.sign(W[active]), g / unit, H / np.outer(unit, unit), unit, damping
            )
            if moved is None:
                break
            W, b, damping = moved
            if value - lower <= 1e-16 * abs(value):
                break
            value = lower
        return W, b

    def _norms_derivatives(self, W):
        """Gradient (k, d) and Hessian of the norms, all weights one after another, where the groups are not 0."""
        pull, curved = np.zeros(W.shape), np.zeros((W.size, W.size))
        places = np.arange(W.size).reshape(W.shape)
        for columns, tau in self.groups:
            unit = self.unit[:, columns]
            w, at = (W[:, columns] * unit).ravel(), places[:, columns].ravel()
            length = np.linalg.norm(w)
            if length > 0:
                pull[:, columns] = (tau * w / length).reshape(unit.shape) * unit
                turn = tau / length * (np.eye(len(w)) - np.outer(w, w) / length**2)
                curved[np.ix_(at, at)] = turn * np.outer(unit.ravel(), unit.ravel())
        return pull, curved

    def _proximal(self, W, b, enough, steps=STEPS):
        A = self.Phi / self.unit[0]
        L = 0.5 * np.linalg.norm(np.sqrt(self.s)[:, None] * A, 2) ** 2 + (self.l2 / self.unit**2).max(initial=0.0)
        V = last = W * self.unit
        t, before = 1.0, self.value(W, b)
        for step in range(steps):
            if step % 50 == 49:
                U, c, slack = self.settle(last / self.unit, b)
                value, b = self.value(U, c), c
                if value - self.dual(U, c) + slack <= enough:
                    return U, c
                if value > before:
                    V, t = last, 1.0
                before = value
            GW, Gb = self.slope(self.residual(self.scores(V / self.unit, b)))
            Z = V - (GW / self.unit + self.l2 / self.unit**2 * V) / L
            new = _soft(Z, self.l1 / self.unit / L)
            for columns, tau in self.groups:
                length = np.linalg.norm(new[:, columns])
                new[:, columns] *= max(0.0, 1.0 - tau / L / length) if length > 0 else 0.0
            b = b - Gb * 2 / self.s.sum() if self.intercept else b
            t, was = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            V, last = new + (was - 1) / t * (new - last), new
        return last / self.unit, b


def _soft(z, a):
    return np.sign(z) * np.maximum(np.abs(z) - a, 0.0)


def _dual_norm(z, a, tau):
    """The smallest t with ||soft(z, t a)|| <= t tau, by bisection."""
    largest = np.linalg.norm(z) / tau
    if largest == 0 or not a.any():
        return largest
    return brentq(lambda t: np.linalg.norm(_soft(z, t * a)) - t * tau, 0.0, 2 * largest, xtol=1e-300, rtol=1e-14)


def _conjugate(z, a, q, tau):
    """sup_w z.w - a |w| - tau ||w|| - q w^2 / 2, through the length r of the best w."""
    u = _soft(z, a)
    over = np.linalg.norm(u) - tau
    if over <= 0:
        return 0.0
    most = over / q.min()

    def missed(r):
        return np.linalg.norm(u / (q * r + tau)) - 1.0

    if missed(0.0) <= 0 or missed(2 * most) >= 0:  # by rounding: u is as long as tau
        return float(over**2 / (2 * q.min()))  # which the conjugate never exceeds
    r = brentq(missed, 0.0, 2 * most, xtol=1e-300, rtol=1e-14)
    w = u * r / (q * r + tau)
    return float(q @ (w * w)) / 2
