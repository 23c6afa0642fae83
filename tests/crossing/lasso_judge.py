"""The judge of real targets, one or several, under L1, ridge and group terms, from their definitions."""

import numpy as np

from .group_judges import STEPS, _conjugate, _dual_norm, _soft

EPS = 8 * np.finfo(float).eps


class GroupedLasso:
    """sum_it s_i (y_it - F_it)^2 / (2 noise) + sum l1 |W| + l2 W^2 / 2 + sum_g tau_g ||unit W_g||, W (k, d)."""

    def __init__(self, Phi, Y, s, noise, l1, l2, intercept, labels, tau, unit):
        self.kept = np.isfinite(l1).all(axis=0)  # columns that are not left out
        self.Phi, self.Y, self.s, self.noise, self.intercept = Phi[:, self.kept], Y, s, noise, intercept
        self.l1, self.l2, self.unit = l1[:, self.kept], l2[:, self.kept], unit[self.kept]
        known = labels[self.kept]
        self.groups = [(np.flatnonzero(known == g), float(tau[g])) for g in np.unique(known[known >= 0]) if tau[g] > 0]
        self.single = np.ones(self.l1.shape, dtype=bool)
        for columns, _ in self.groups:
            self.single[:, columns] = False
        self.free = self.single & (self.l1 == 0) & (self.l2 == 0)

    def scores(self, W, b):
        return self.Phi @ W[:, self.kept].T + b

    def penalty(self, W):
        W = W[:, self.kept]
        norms = sum(tau * np.linalg.norm((W * self.unit)[:, columns]) for columns, tau in self.groups)
        return float((self.l1 * np.abs(W) + self.l2 * W * W / 2).sum() + norms)

    def value(self, W, b):
        return float((self.s @ (self.Y - self.scores(W, b)) ** 2).sum()) / (2 * self.noise) + self.penalty(W)

    def _residual(self, W, b):
        """The residuals with what intercepts and free weights could still explain taken out: a point of the dual."""
        R, root = self.Y - self.scores(W, b), np.sqrt(self.s)
        for t in range(R.shape[1]):
            Z = self.Phi[:, self.free[t]]
            if self.intercept:
                Z = np.column_stack([np.ones(len(R)), Z - self.s @ Z / self.s.sum()])
            if Z.shape[1]:
                A = root[:, None] * Z
                size = np.where(A.any(axis=0), np.linalg.norm(A, axis=0), 1.0)
                for _ in range(2):
                    R[:, t] -= Z @ (np.linalg.lstsq(A / size, root * R[:, t], rcond=1e-13)[0] / size)
        return R

    def _slopes(self, R):
        """Phi^T diag(s) R / noise of centred columns, (k, d), 0 where the weight is free."""
        centre = self.s @ self.Phi / self.s.sum() if self.intercept else 0.0
        return np.where(self.free, 0.0, ((self.Phi - centre).T @ (self.s[:, None] * R)).T / self.noise)

    def _parts(self, G):
        """Of each group, in the units of its norm: gradient, L1 and ridge strengths, tau."""
        for columns, tau in self.groups:
            unit = self.unit[columns]
            parts = G[:, columns] / unit, self.l1[:, columns] / unit, self.l2[:, columns] / unit**2
            yield *(part.ravel() for part in parts), tau

    def lower_bound(self, W, b):
        R = self._residual(W, b)
        G = self._slopes(R)
        Y = self.Y - (self.s @ self.Y / self.s.sum() if self.intercept else 0.0)
        square, product = float((self.s @ R**2).sum()), float((self.s @ (R * Y)).sum())
        every, unridged = [0.0], [0.0]
        for z, a, q, tau in self._parts(G):
            every.append(_dual_norm(z, a, tau))
            if not q.any():
                unridged.append(every[-1])
        for which, sizes in (
            (self.single & ~self.free, every),
            (self.single & (self.l1 > 0) & (self.l2 == 0), unridged),
        ):
            over = which & (np.abs(G) > 0)
            with np.errstate(divide="ignore"):
                sizes.extend((np.abs(G[over]) / self.l1[over]).tolist())
        best = product / square if square > 0 else 0.0
        limits = [1 / max(sizes) if max(sizes) > 0 else np.inf for sizes in (every, unridged)]
        tried = {min(rho, limits[1]) for rho in (best, 1.0, limits[0]) if np.isfinite(rho)}
        return max(self._dual(rho, R, G, product, square) for rho in tried)

    def _dual(self, rho, R, G, product, square):
        value = (rho * product - rho**2 * square / 2) / self.noise
        ridged = self.single & (self.l2 > 0)
        over = np.maximum(rho * np.abs(G[ridged]) - self.l1[ridged], 0.0)
        value -= float((over**2 / (2 * self.l2[ridged])).sum())
        return value - sum(_conjugate(rho * z, a, q, tau) for z, a, q, tau in self._parts(G) if q.any())

    def _error(self, W, b):
        return EPS * (np.abs(self.Phi) @ np.abs(W[:, self.kept]).T + np.abs(b) + np.abs(self.Y))

    def value_rounding(self, W, b):
        e = self._error(W, b)
        return float((self.s @ ((np.abs(self.Y - self.scores(W, b)) + e / 2) * e)).sum()) / self.noise

    def rounding(self, W, b):
        """The dual point's shrinkage is known to the part by which the rounding of the slopes exceeds a penalty.

        A shrinkage by a part t costs t times the penalty, and t^2 times the loss.
        """
        centre = self.s @ self.Phi / self.s.sum() if self.intercept else 0.0
        E = (np.abs(self.Phi - centre).T @ (self.s[:, None] * self._error(W, b))).T / self.noise
        R = self._residual(W, b)
        G = self._slopes(R)
        sparse, ridged = self.single & (self.l1 > 0) & (self.l2 == 0), self.single & (self.l2 > 0)
        unsure, largest = (
            (E[sparse] / self.l1[sparse]).max(initial=0.0),
            (np.abs(G[sparse]) / self.l1[sparse]).max(initial=1),
        )
        over = np.maximum(np.abs(G[ridged]) - self.l1[ridged], 0.0)
        ridge = float(((over + E[ridged] / 2) * E[ridged] / self.l2[ridged]).sum())
        for (z, a, q, tau), (e, *_) in zip(self._parts(G), self._parts(E), strict=True):
            length = np.linalg.norm(e)
            if q.any():
                ridge += (max(np.linalg.norm(_soft(z, a)) - tau, 0.0) + length / 2) * length / q.min()
            else:
                unsure, largest = max(unsure, length / tau), max(largest, _dual_norm(z, a, tau))
        loss = float((self.s @ R**2).sum()) / (2 * self.noise)
        shrunk = min(largest - 1, 1.0)
        return self.value_rounding(W, b) + unsure * self.penalty(W) + (2 * shrunk + unsure) * unsure * loss + ridge

    def improve(self, W, b, enough):
        """Accelerated proximal steps in the units of the norms, restarted where the objective rises."""
        best, bound = self.value(W, b), self.lower_bound(W, b)
        full = W.copy()
        A = self.Phi / self.unit
        centre = self.s @ A / self.s.sum() if self.intercept else 0.0
        A = A - centre
        L = np.linalg.norm(np.sqrt(self.s)[:, None] * A, 2) ** 2 / self.noise + (self.l2 / self.unit**2).max(
            initial=0.0
        )
        Y = self.Y - (self.s @ self.Y / self.s.sum() if self.intercept else 0.0)
        V = last = W[:, self.kept] * self.unit
        t, before = 1.0, best
        for step in range(STEPS):
            if step % 50 == 49:
                full[:, self.kept] = last / self.unit
                c = self.s @ (self.Y - self.Phi @ full[:, self.kept].T) / self.s.sum() if self.intercept else b
                value = self.value(full, c)
                best, bound = min(best, value), max(bound, self.lower_bound(full, c))
                if best - bound <= enough:
                    return best, bound, True
                if value > before:
                    V, t = last, 1.0
                before = value
            G = -((A.T @ (self.s[:, None] * (Y - A @ V.T))).T) / self.noise + self.l2 / self.unit**2 * V
            new = _soft(V - G / L, self.l1 / self.unit / L)
            for columns, tau in self.groups:
                length = np.linalg.norm(new[:, columns])
                new[:, columns] *= max(0.0, 1.0 - tau / L / length) if length > 0 else 0.0
            t, was = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            V, last = new + (was - 1) / t * (new - last), new
        return best, bound, False
