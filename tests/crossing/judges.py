"""What a fitted model claims, computed once more from its weights by NumPy alone, from the definitions in the docs.

Nothing here is shared with the package. Each judge returns sentences about claims that are false; none means that all
of them hold.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.special import log_ndtr

SAME = 1e-9  # relative difference of objectives that counts as equal
ROUNDING = 1e-12  # of the objective and the number of samples: what no certificate can resolve
PROXIMAL_STEPS = 3000  # of the independent solver, where the dual at the weights themselves is not enough


# -- columns


def weighted_spread(Phi, s, about_mean=True):
    """Standard deviations of the columns (about 0 without intercept), 1 for constant columns."""
    mean = s @ Phi / s.sum()
    centre = mean if about_mean else np.zeros_like(mean)
    variance = s @ (Phi - centre) ** 2 / s.sum()
    return np.where(variance <= 1e-28 * mean**2, 1.0, np.sqrt(variance))


FEW = 9  # centres of the bases "few centres", which the model chooses, and "given centres"


def farthest(rows, count):
    """So many of the rows, sorted: the farthest from their mean, then each time the farthest from those chosen."""
    away, found = np.linalg.norm(rows - rows.mean(axis=0), axis=1), []
    while len(found) < min(count, len(rows)):
        found.append(int(np.argmax(away)))
        away = np.min([np.linalg.norm(rows - rows[i], axis=1) for i in found], axis=0)
    return rows[sorted(found)]


def columns(X, s, basis):
    """The design of a basis on the inputs X of positive weight."""
    if basis == "linear":
        return X
    if basis == "quadratic":
        p = X.shape[1]
        return np.column_stack([X, *(X[:, i] * X[:, j] for i in range(p) for j in range(i, p))])
    if basis == "precomputed":  # one column of each set of repeated samples
        same = np.abs(X[:, :, None] - X[:, None, :]).max(axis=0) <= 1e-12
        return X[:, same.argmax(axis=1) == np.arange(len(X))]
    centres = np.unique(X, axis=0)
    if basis in ("few centres", "given centres"):
        centres, basis = farthest(centres, FEW), "rbf"
    mean = s @ X / s.sum()
    variance = (s @ (X - mean) ** 2).sum() / s.sum()
    gamma = 1 / variance if variance > 0 else 1.0
    if basis == "laplacian":
        spread = np.sqrt(s @ (X - mean) ** 2 / s.sum()).sum()
        return np.exp(-np.abs(X[:, None, :] - centres).sum(axis=2) / (spread or 1.0))
    if basis == "rbf":
        return np.exp(-gamma * ((X[:, None, :] - centres) ** 2).sum(axis=2))
    return (gamma * X @ centres.T + 1.0) ** 3


def column_rounding(X, s, basis, eps, centre=0.0):
    """What rounding to a part eps may do to the columns: kernels sum products as large as the squared rows.

    `centre` is what was taken from each input beforehand.
    """
    if basis in ("linear", "quadratic"):
        return 8 * eps * columns(np.abs(X).max(axis=0)[None] + 2 * np.abs(centre), s, basis)
    mean = s @ X / s.sum()
    variance = (s @ (X - mean) ** 2).sum() / s.sum() or 1.0
    size = 1 + (X**2).sum(axis=1).max() / variance
    width = 16 * eps * (1 + np.sqrt((mean**2).sum() / variance))  # relative, of the kernel's
    if basis == "laplacian":
        spread = np.sqrt(s @ (X - mean) ** 2 / s.sum()).sum() or 1.0
        return 64 * eps * (1 + np.abs(X).sum(axis=1).max() / spread) + width
    return (
        64 * eps * size + width
        if basis in ("rbf", "few centres", "given centres")
        else (64 * eps + 3 * width) * size**3
    )


def standardized(X, s, sparse):
    """Inputs in units of their standard deviations, about their means unless they are sparse."""
    mean = s @ X / s.sum()
    return (X - (0.0 if sparse else mean)) / weighted_spread(X, s)


def scaled_kernel(X, theta, basis):
    """Kernels that see each input through a scaling, radial or cubic, and what their rounding is relative to."""
    centres = np.unique(X, axis=0)
    if basis == "rbf":  # about the mean; a distance is known to a part of the squared rows
        X, centres = X - X.mean(axis=0), centres - X.mean(axis=0)
        K = np.exp(-(theta * (X[:, None, :] - centres) ** 2).sum(axis=2))
        return K, K * (1 + (theta * X**2).sum(axis=1)[:, None] + (theta * centres**2).sum(axis=1))
    D = (X * theta) @ centres.T
    return (1.0 + D) ** 3, 3 * (1.0 + np.abs(D)) * (1.0 + D) ** 2


def gated_kernel(X, s, gates, standardize):
    """A radial kernel of width 2 / (sum of the variances) whose inputs are multiplied by gates."""
    X = standardized(X, s, False) if standardize else X
    centres = np.unique(X, axis=0)
    variance = (s @ (X - s @ X / s.sum()) ** 2).sum() / s.sum()
    return np.exp(-(2 / variance if variance > 0 else 2.0) * ((gates * (X[:, None, :] - centres)) ** 2).sum(axis=2))


def class_factors(class_weight, codes, s, labels):
    """By what a class weight multiplies each sample."""
    if class_weight is None:
        return np.ones(len(codes))
    if class_weight == "balanced":
        counts = np.bincount(codes, weights=s)
        return s.sum() / (len(counts) * counts[codes])
    return np.array([class_weight[label] for label in labels.tolist()])[codes]


# -- softmax with L1 and ridge


class Softmax:
    """sum_i s_i [ log sum_c exp F_ic - F_i,y ] + sum l1 |W| + l2/2 W^2 over the weights of k columns of scores.

    Two classes have one column, that of the second; `reference` leaves out the last of several.
    """

    def __init__(self, Phi, codes, m, s, shift, l1, l2, intercept, reference):
        self.Phi, self.s, self.m, self.intercept = Phi, s, m, intercept
        self.scored = np.array([1]) if m == 2 else np.arange(m - reference)
        self.Y = np.eye(m)[codes]
        self.shift = np.zeros((len(codes), m)) if shift is None else shift
        k, d = len(self.scored), Phi.shape[1]
        self.l1, self.l2 = np.broadcast_to(l1, (k, d)), np.broadcast_to(l2, (k, d))
        self.free = (self.l1 == 0) & (self.l2 == 0)
        self.blur = np.zeros_like(Phi)  # by how much rounding may change the columns

    def scores(self, W, b):
        F = self.shift.copy()
        F[:, self.scored] += self.Phi @ W.T + b
        return F

    def loss(self, F):
        top = F.max(axis=1, keepdims=True)
        own = (self.Y * F).sum(axis=1)
        return float(self.s @ ((top[:, 0] - own) + np.log(np.exp(F - top).sum(axis=1))))

    def penalty(self, W):
        return float((self.l1 * np.abs(W) + self.l2 / 2 * W * W).sum())

    def value(self, W, b):
        return self.loss(self.scores(W, b)) + self.penalty(W)

    def residual(self, F):
        """P - Y without cancellation: 1 - P of the own class is the sum of the others."""
        E = np.exp(F - F.max(axis=1, keepdims=True))
        P = E / E.sum(axis=1, keepdims=True)
        own = self.Y > 0
        return np.where(own, -np.where(own, 0.0, P).sum(axis=1, keepdims=True), P)

    def slope(self, R):
        """Gradient of the loss in W and b."""
        G = (self.s[:, None] * R)[:, self.scored]
        return G.T @ self.Phi, G.sum(axis=0)

    # -- the free weights at their optimum: Newton's method with damping

    def settle(self, W, b, steps=60):
        free = self.free
        if not self.intercept and not free.any():
            return W, b, 0.0
        value, damping, given = self.value(W, b), 0.0, (W, b)
        for _ in range(steps):
            R = self.residual(self.scores(W, b))
            GW, Gb = self.slope(R)
            g = np.append(GW[free], Gb if self.intercept else [])
            A = self._free_columns(free)
            scale = np.sqrt(np.maximum((self.s[:, None, None] * A**2).sum(axis=(0, 1)), 1e-300))
            if np.abs(g / scale).max() <= 1e-15 * np.sqrt(self.s.sum()):
                break
            H = self._curvature(R, A) / np.outer(scale, scale)
            for _ in range(40):
                step = np.linalg.lstsq(H + damping * np.eye(len(H)), g / scale, rcond=1e-14)[0] / scale
                V, c = W.copy(), b.copy()
                V[free] -= step[: free.sum()]
                if self.intercept:
                    c = b - step[free.sum() :]
                lower = self.value(V, c)
                if np.isfinite(lower) and lower <= value + 1e-15 * abs(value):
                    W, b, value, damping = V, c, lower, damping / 10 if damping > 1e-12 else 0.0
                    break
                damping = max(10 * damping, 1e-8)
            else:
                break
        GW, Gb = self.slope(self.residual(self.scores(W, b)))
        left = np.append(GW[free], Gb if self.intercept else [])
        moved = np.append((W - given[0])[free], b - given[1] if self.intercept else [])
        # The dual holds the free weights where they are (see `dual`): what is left of their gradient counts only as far
        # as they may still move, taken as what changes the scores by about one, and twice as far as they have moved.
        square = (self.s[:, None, None] * self._free_columns(free) ** 2).sum(axis=(0, 1))
        reach = np.sqrt(self.s.sum() / np.maximum(square, 1e-300)) * (square > 0) + 2 * np.abs(moved)
        return W, b, float(np.abs(left) @ reach)

    def _free_columns(self, free):
        """How each free weight moves the scores, (n, m, q)."""
        parts = []
        for at, j in zip(*np.nonzero(free), strict=True):
            part = np.zeros((len(self.s), self.m))
            part[:, self.scored[at]] = self.Phi[:, j]
            parts.append(part)
        if self.intercept:
            for c in self.scored:
                part = np.zeros((len(self.s), self.m))
                part[:, c] = 1.0
                parts.append(part)
        return np.stack(parts, axis=2)

    def _curvature(self, R, A):
        P = R + self.Y
        PA = np.einsum("nc,ncq->nq", P, A)
        return np.einsum("n,nc,ncq,ncr->qr", self.s, P, A, A, optimize=True) - (self.s[:, None] * PA).T @ PA

    # -- the dual

    def dual(self, W, b):
        """The best of the dual values at the residuals, shrunk to feasibility everywhere, or without ridge only.

        The free weights belong to the known part of the scores, as the offset does: only changes of them are unknown.
        With an intercept, what rounding leaves of the residuals' sum is taken out of all of them alike, so that neither
        columns far from 0 nor the intercepts that go with them multiply it: the products are those of centred columns,
        and the known part is what they leave of the scores.
        """
        R, G, known = self._dual_terms(W, b)
        G = np.abs(G)
        return max(self._dual_at(R, G, rho, known) for rho in self._shrinkages(G))

    def _dual_terms(self, W, b):
        """Residuals, their gradient about the means, and the known part of the scores."""
        F = self.scores(W, b)
        R = self.residual(F)
        known = F.copy()
        known[:, self.scored] -= (self.Phi - self._centre()) @ np.where(self.free, 0.0, W).T
        return R, self.centred_slope(R), known

    def _shrinkages(self, G):
        for which in ((self.l1 > 0) | (self.l2 > 0), (self.l1 > 0) & (self.l2 == 0)):
            over = G[which] > self.l1[which]
            yield float((self.l1[which][over] / G[which][over]).min(initial=1.0))

    def lost_by_shrinking(self, W, b, part):
        """What the dual value at the residuals loses where they are shrunk by a part.

        To first order that is the part of the penalty; where rows are far on the wrong side, as large offsets put them,
        it is the part of their loss.
        """
        R, _, known = self._dual_terms(W, b)
        feasible = np.zeros_like(self.l1)
        whole, shrunk = (self._dual_at(R, feasible, rho, known) for rho in (1.0, max(0.0, 1.0 - part)))
        return max(0.0, whole - shrunk)

    def centred_slope(self, R):
        """Gradient of the loss in the weights of columns about their means, where there is an intercept."""
        return (self.s[:, None] * R)[:, self.scored].T @ (self.Phi - self._centre())

    def _centre(self):
        return self.s @ self.Phi / self.s.sum() if self.intercept else 0.0

    def _dual_at(self, R, G, rho, known):
        Q = self.Y + rho * R
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = -np.where(Q > 0, Q * np.log(Q), 0.0).sum(axis=1)
        value = float(self.s @ entropy) + rho * float(self.s @ (R * known).sum(axis=1))
        ridged = self.l2 > 0
        excess = np.maximum(rho * G[ridged] - self.l1[ridged], 0.0)
        return value - float((excess**2 / (2 * self.l2[ridged])).sum())

    def rounding(self, W, b):
        """What the rounding of the scores alone makes of the objective and of the dual bound.

        A score is known to a few units in the last place of what it is summed from, the error e. The objective moves by
        sum s |R| e, and the gradient G by E = sum s P (1 - P) |x| e: a shrinkage l1 / |G| is known to E / l1 of itself
        (see `lost_by_shrinking`), and a ridge term |G|^2 / (2 l2) to |G| E / l2 + E^2 / (2 l2).
        """
        R = self.residual(self.scores(W, b))
        E = self.gradient_rounding(W, b, self._centre())
        sparse, ridged = (self.l1 > 0) & (self.l2 == 0), self.l2 > 0
        part = float((E[sparse] / self.l1[sparse]).max(initial=0.0))
        G = np.abs(self.centred_slope(R))[ridged]
        ridge = ((np.maximum(G - self.l1[ridged], 0.0) + E[ridged] / 2) * E[ridged] / self.l2[ridged]).sum()
        shrinkage = max(part * self.penalty(W), self.lost_by_shrinking(W, b, part))
        return self.value_rounding(W, b) + shrinkage + float(ridge)

    def value_rounding(self, W, b):
        """The part of the objective: sum s |R| e, or more where e is not small: scores as much worse as they may be.

        The loss is convex, so that scores better by e change it by less.
        """
        F, error = self.scores(W, b), self.score_rounding(W, b)
        return self.loss(F + error * (1 - 2 * self.Y)) - self.loss(F)

    def score_rounding(self, W, b):
        """e, (n, m)."""
        size = np.abs(self.shift)
        size[:, self.scored] += np.abs(self.Phi) @ np.abs(W).T + np.abs(b)
        error = 8 * np.finfo(float).eps * size
        error[:, self.scored] += self.blur @ np.abs(W).T
        return error

    def gradient_rounding(self, W, b, centre):
        """E, what the rounding of the scores makes of the gradient in the weights of columns about a centre."""
        R = self.residual(self.scores(W, b))
        P = R + self.Y
        error = (self.s[:, None] * P * (1 - P) * self.score_rounding(W, b))[:, self.scored]
        moved = error.T @ np.abs(self.Phi - centre)
        return moved + (self.s[:, None] * np.abs(R))[:, self.scored].T @ self.blur

    def lower_bound(self, W, b):
        """A value that the objective cannot fall below, from the weights with the free ones at their optimum."""
        W, b, slack = self.settle(W.copy(), b.copy())
        return max(0.0, self.dual(W, b) - slack)  # no loss and no penalty falls below 0

    def improve(self, W, b, enough):
        """An independent solution: the best objective and the best dual bound, and whether it came to rest.

        Accelerated proximal steps find the weights that matter where columns are well conditioned; Newton's method on
        the weights that are not 0 or want to leave it finishes where they are not.
        """
        best, bound, rested = self.value(W, b), -np.inf, False
        for start in (lambda: (W, b), lambda: self._proximal(W, b, enough)):
            V, c = self._active_newton(*start())
            rested = self._promised(V, c) <= enough
            best = min(best, self.value(V, c))
            V, c, slack = self.settle(V, c)
            best, bound = min(best, self.value(V, c)), max(bound, self.dual(V, c) - slack)
            if best - bound <= enough or rested:
                break
        return best, bound, rested

    def _promised(self, W, b):
        """What the violations of the optimality conditions promise for moves that change scores by one or double them.

        Violations below the rounding of the gradient promise nothing.
        """
        F = self.scores(W, b)
        R = self.residual(F)
        GW, Gb = self.slope(R)
        G = GW + self.l2 * W
        missed = np.where(W == 0, np.maximum(np.abs(G) - self.l1, 0.0), np.abs(G + self.l1 * np.sign(W)))
        square, far = self.s @ self.Phi**2, 1 + np.ptp(F, axis=1)
        reach = np.sqrt(self.s @ far**2) / np.sqrt(np.where(square > 0, square, np.inf))
        missed = np.maximum(missed - self.gradient_rounding(W, b, 0.0), 0.0)
        return float((missed * reach).sum()) + float(np.abs(Gb).sum() * far.max() if self.intercept else 0.0)

    def _proximal(self, W, b, enough):
        norm = np.sqrt(np.maximum(self.s @ self.Phi**2, 1e-300))
        A = self.Phi / norm
        L = 0.5 * np.linalg.norm(np.sqrt(self.s)[:, None] * A, 2) ** 2 + (self.l2 / norm**2).max(initial=0.0)
        l1, l2 = self.l1 / norm, self.l2 / norm**2
        V, last, t = W * norm, W * norm, 1.0
        for step in range(PROXIMAL_STEPS):
            if step % 50 == 49:
                U, c, slack = self.settle(last / norm, b)
                if self.value(U, c) - self.dual(U, c) + slack <= enough:
                    return U, c
                b = c
            GW, Gb = self.slope(self.residual(self.scores(V / norm, b)))
            Z = V - (GW / norm + l2 * V) / L
            new = np.sign(Z) * np.maximum(np.abs(Z) - l1 / L, 0.0)
            if self.intercept:
                b = b - Gb * 2 / self.s.sum()
            t, before = (1 + np.sqrt(1 + 4 * t * t)) / 2, t
            V, last = new + (before - 1) / t * (new - last), new
        return last / norm, b

    def _active_newton(self, W, b, steps=100):
        """Damped Newton steps on the signed weights that are not 0, and on the worst violators."""
        W, b, value, damping = W.copy(), b.copy(), self.value(W, b), 0.0
        for _ in range(steps):
            F = self.scores(W, b)
            R = self.residual(F)
            G = self.slope(R)[0] + self.l2 * W
            worst = np.where(W == 0, np.maximum(np.abs(G) - self.l1, 0.0), np.abs(G + self.l1 * np.sign(W)))
            active = (W != 0) | (self.l1 == 0) | (worst > max(0.5 * worst.max(initial=0.0), 1e-300))
            A = self._free_columns(active)
            sign = np.where(W != 0, np.sign(W), -np.sign(G))[active]
            g = np.append(G[active] + self.l1[active] * sign, self.slope(R)[1] if self.intercept else [])
            ridge = np.append(self.l2[active], np.zeros(len(b) if self.intercept else 0))
            H = self._curvature(R, A) + np.diag(ridge)
            unit = np.sqrt(np.maximum(np.diag(H), 1e-200))  # so that a step, g / unit^2, does not overflow
            lower, moved = self._damped(W, b, value, active, sign, g / unit, H / np.outer(unit, unit), unit, damping)
            if moved is None:
                break
            W, b, damping = moved
            if value - lower <= 1e-16 * abs(value):
                break
            value = lower
        return W, b

    def _damped(self, W, b, value, active, sign, g, H, unit, damping):
        """The first of ever more damped steps that lowers the objective; weights whose sign would turn stop at 0."""
        count = int(active.sum())
        for _ in range(40):
            step = np.linalg.lstsq(H + damping * np.eye(len(H)), g, rcond=1e-14)[0] / unit
            V, c = W.copy(), b - step[count:] if self.intercept else b
            new = W[active] - step[:count]
            V[active] = np.where((new * sign < 0) & (self.l1[active] > 0), 0.0, new)
            lower = self.value(V, c)
            if np.isfinite(lower) and lower < value:
                return lower, (V, c, damping / 10 if damping > 1e-12 else 0.0)
            damping = max(10 * damping, 1e-10)
        return value, None


def judge_convex(problem, W, b, objective, gap, tol, status):
    """Complaints about the objective and the relative duality gap that were claimed for W and b."""
    n, value = len(problem.s), problem.value(W, b)
    complaints = compare("objective_", objective, value, problem.s, problem.value_rounding(W, b))
    if status == "converged" and not gap <= tol:
        complaints.append(f"status converged with a gap of {gap:.3g} above tol={tol:.3g}")
    if not np.isfinite(gap):
        return complaints
    allowed = gap * abs(value) + ROUNDING * (abs(value) + problem.s.sum() + n) + problem.rounding(W, b)
    if value - problem.lower_bound(W, b) <= allowed:
        return complaints
    best, bound, rested = problem.improve(W, b, allowed)
    if value - best > allowed:
        complaints.append(f"gap {gap:.3g} claimed, but {best:.15g} is reachable and {value:.15g} was returned")
    elif not rested and value - bound > 1.05 * allowed + SAME * abs(value):  # neither better weights nor a proof
        complaints.append(f"unproved: gap {gap:.3g} claimed, {(value - bound) / abs(value):.3g} proved at {value:.6g}")
    return complaints


def compare(name, claimed, value, s, rounding=0.0):
    """A complaint where a claimed number is not the recomputed one; `rounding` is that of the scores it comes from."""
    allowed = SAME * abs(value) + ROUNDING * (s.sum() + len(s)) + rounding
    if not np.isfinite(claimed) or abs(claimed - value) > allowed:
        return [f"{name} is claimed to be {claimed:.15g} and is {value:.15g}"]
    return []


# -- weights under Jeffreys' prior, on the survivors


def survivors_violation(Phi, w, loss_gradient, s, unit):
    """Largest |w_j dloss/dw_j + 1|, or what the intercept's gradient is relative to `unit` times the samples.

    `loss_gradient` is that of each sample's loss in its score.
    """
    kept = np.flatnonzero(w)
    total = float(s @ loss_gradient)
    centred = s * (loss_gradient - total / s.sum()) if unit else s * loss_gradient
    missed = np.abs(w[kept] * (Phi[:, kept].T @ centred) + 1.0).max(initial=0.0)
    return max(float(missed), abs(total) / (s.sum() * unit) if unit else 0.0)


def survivors_rounding(Phi, w, size, s, curvature):
    """By how much rounding alone moves that: scores are known to a few units in the last place of their terms.

    `size` is what a score and its target are summed from, in absolute values.
    """
    kept = np.flatnonzero(w)
    reach = np.abs(w[kept]) * (np.abs(Phi[:, kept]).T @ (s * curvature * size))
    return 16 * np.finfo(float).eps * float(reach.max(initial=0.0) + s @ (curvature * size))


def compare_violation(model, value, rounding):
    """A complaint where violation_ is not what the weights say."""
    if abs(model.violation_ - value) <= 1e-9 + 1e-3 * value + rounding:
        return []
    return [f"violation_ is claimed to be {model.violation_:.3g} and is {value:.3g}"]


def normal_hazard(x):
    """phi(x) / Phi(x) of the normal distribution; to the left, t + 1 / (t + 2 / (t + 3 / ...)) with t = -x."""
    t = np.maximum(-x, 5.0)
    fraction = t
    for k in range(100, 0, -1):
        fraction = t + k / fraction
    near = np.maximum(x, -5.0)
    return np.where(x < -5.0, fraction, np.exp(-near * near / 2 - log_ndtr(near)) / np.sqrt(2 * np.pi))


# -- Gaussian targets with L1


class Lasso:
    """sum_i s_i (y_i - F_i)^2 / (2 noise) + sum l1 |w|."""

    def __init__(self, Phi, y, s, noise, l1, intercept):
        self.Phi, self.y, self.s, self.noise, self.l1, self.intercept = Phi, y, s, noise, l1, intercept

    def value(self, w, b):
        r = self.y - self.Phi @ w - b
        return float(self.s @ r**2) / (2 * self.noise) + float(self.l1 @ np.abs(w))

    def lower_bound(self, w, b):
        r, centre = self._centred_residual(w, b)
        G = np.abs((self.Phi - centre).T @ (self.s * r)) / self.noise
        over = G > 0
        y = self.y - (self.s @ self.y / self.s.sum() if self.intercept else 0.0)
        square, product = float(self.s @ r**2), float(self.s @ (r * y))
        # The best of the feasible multiples of the residual.
        rho = min(product / square if square > 0 else 0.0, float((self.l1[over] / G[over]).min(initial=np.inf)))
        return (rho * product - rho**2 * square / 2) / self.noise

    def value_rounding(self, w, b):
        """sum s |r| e / noise, e the rounding of a residual; e^2 counts where there is hardly any residual."""
        e = self._residual_rounding(w, b)
        return float(self.s @ ((np.abs(self.y - self.Phi @ w - b) + e / 2) * e)) / self.noise

    def rounding(self, w, b):
        """As in `Softmax`: the dual point's shrinkage l1 / |G| is known to E / l1 of itself.

        A shrinkage by a part t costs t times the penalty, and t^2 times the loss.
        """
        r, centre = self._centred_residual(w, b)
        E = np.abs(self.Phi - centre).T @ (self.s * self._residual_rounding(w, b)) / self.noise
        G = np.abs((self.Phi - centre).T @ (self.s * r)) / self.noise
        unsure, shrunk = float((E / self.l1).max(initial=0.0)), float((G / self.l1).max(initial=1.0)) - 1
        loss = float(self.s @ r**2) / (2 * self.noise)
        penalty = float(self.l1 @ np.abs(w))
        return self.value_rounding(w, b) + unsure * penalty + (2 * min(shrunk, 1.0) + unsure) * unsure * loss

    def _centred_residual(self, w, b):
        """The residual, its mean taken out where there is an intercept, and what is taken out of the columns."""
        r = self.y - self.Phi @ w - b
        if not self.intercept:
            return r, 0.0
        return r - self.s @ r / self.s.sum(), self.s @ self.Phi / self.s.sum()

    def _residual_rounding(self, w, b):
        return 8 * np.finfo(float).eps * (np.abs(self.Phi) @ np.abs(w) + np.abs(b) + np.abs(self.y))

    def improve(self, w, b, enough, steps=PROXIMAL_STEPS):
        """Coordinate descent: the best objective and the best dual bound found on the way."""
        w, best, bound = w.copy(), self.value(w, b), self.lower_bound(w, b)
        square = self.s @ self.Phi**2
        r = self.y - self.Phi @ w - b
        for _ in range(steps // 5):
            for j in np.flatnonzero(square):
                z = w[j] + (self.s * self.Phi[:, j]) @ r / square[j]
                new = np.sign(z) * max(abs(z) - self.l1[j] * self.noise / square[j], 0.0)
                r -= (new - w[j]) * self.Phi[:, j]
                w[j] = new
            shift = self.s @ r / self.s.sum() if self.intercept else 0.0
            b, r = b + shift, r - shift
            best, bound = min(best, self.value(w, b)), max(bound, self.lower_bound(w, b))
            if best - bound <= enough:
                break
        return best, bound, False


# -- evidence


def log_evidence(Phi, Y, s, gamma, noise, intercept):
    """log p(Y | gamma, noise), weights and intercept (flat prior) integrated out; a sample weight is a repetition.

    And the least of |Y - F|^2 / noise + sum |w_j|^2 / gamma_j, which the posterior mean has. Complex numbers have
    circular noise and weights, and a flat prior of density 1 on the plane.
    """
    Y = Y.reshape(len(Y), -1)
    total, k, root = s.sum(), Y.shape[1], np.sqrt(s)[:, None]
    kept = np.flatnonzero(gamma)
    A = root * (Phi[:, kept] - s @ Phi[:, kept] / total if intercept else Phi[:, kept])
    T = root * (Y - s @ Y / total if intercept else Y)
    Q, logdet = spanned(A, gamma[kept], noise)
    quadratic, half = float((np.abs(left_over(Q, T, noise)) ** 2).sum()), part(Phi)
    constant = (total - intercept) * np.log(np.pi * noise / half) + (np.log(total) if intercept else 0.0)
    return -half * (k * (constant + logdet) + quadratic), quadratic


def part(Phi):
    """What densities of real numbers have in their exponent, and those of circular complex numbers."""
    return 1.0 if np.iscomplexobj(Phi) else 0.5


def spanned(A, gamma, noise):
    """Orthonormal columns that span those of a model above their prior's, and log|I + Gamma A^T A / noise|.

    The model's columns are A sqrt(gamma / noise) above a unit matrix. Householder's method with pivoting, large rows
    first, leaves each row and each column an error relative to itself; a singular value decomposition would leave all
    of them one relative to the largest.
    """
    B = np.vstack([A * np.sqrt(gamma / noise), np.eye(len(gamma))])
    order = np.argsort(-np.abs(B).max(axis=1, initial=0.0), kind="stable")
    Q = np.empty_like(B)
    Q[order], R, _ = qr(B[order], mode="economic", pivoting=True)
    return Q, 2 * float(np.log(np.abs(R.diagonal())).sum())


def left_over(Q, T, noise):
    """What the model leaves of columns T / sqrt(noise), and below minus the means of its weights / sqrt(gamma)."""
    E = np.vstack([T / np.sqrt(noise), np.zeros((len(Q) - len(T), T.shape[1]))])
    for _ in range(2):
        E = E - Q @ (Q.conj().T @ E)
    return E


def evidence_rounding(Phi, W, b, Y, s, noise):
    """By how much rounding moves the log evidence: misfit / noise is made of residuals, and these of larger terms.

    A column about its mean is known to a unit in the last place of the column as it is; so is what it explains.
    """
    size, r = _terms(Phi, W, b, Y)
    blur = 16 * np.finfo(float).eps * size
    return float((s[:, None] * (np.abs(r) + blur) * blur).sum()) / noise


def _terms(Phi, W, b, Y):
    """What residuals are summed from, in absolute values, and these residuals: (n, k) each."""
    Y, W, b = Y.reshape(len(Y), -1), W.reshape(-1, Phi.shape[1]), np.atleast_1d(b)
    return np.abs(Phi) @ np.abs(W.T) + np.abs(b) + np.abs(Y), Y - Phi @ W.T - b


def mean_missed(Phi, W, b, Y, s, gamma, noise, least):
    """By how much the returned weights exceed that least, in nats; infinite where one has a weight but no variance."""
    _, r = _terms(Phi, W, b, Y)
    W, kept = W.reshape(-1, Phi.shape[1]), gamma > 0
    if W[:, ~kept].any():
        return np.inf
    found = float(s @ (np.abs(r) ** 2).sum(axis=1)) / noise + float((np.abs(W[:, kept]) ** 2 / gamma[kept]).sum())
    return part(Phi) * (found - least)


def evidence_violation(Phi, W, b, Y, s, gamma, noise, intercept, free_noise, labels=None):
    """The least and the most that violation_ may be, in nats, given the rounding of residuals.

    Slopes of the log evidence in log variances inside the model (`free_noise`: in the log noise too), and what the
    columns outside promise together, each alone at its best variance (Tipping & Faul 2003). Columns of one label share
    their variance, and promise what as many orthogonal columns that are seen alike would.
    """
    labels = np.arange(Phi.shape[1]) if labels is None else labels
    half = part(Phi)
    size, _ = _terms(Phi, W, b, Y)
    Y = Y.reshape(len(Y), -1)
    total, k, root = s.sum(), Y.shape[1], np.sqrt(s)[:, None]
    raw = root * Phi
    A = root * (Phi - s @ Phi / total) if intercept else raw
    T = root * (Y - s @ Y / total) if intercept else root * Y
    inside, n = np.flatnonzero(gamma), len(s)
    Q, _ = spanned(A[:, inside], gamma[inside], noise)
    rest = left_over(Q, T, noise)
    determined = 1 - (np.abs(Q[n:]) ** 2).sum(axis=1)
    square = (np.abs(rest[n:]) ** 2).sum(axis=1)  # of the means / sqrt(gamma)
    slopes = grouped(half * (k * determined - square), labels[inside])
    # A column and the targets are known to rounding; the means move by as much.
    lost = 64 * np.finfo(float).eps * np.sqrt((np.abs(raw[:, inside]) ** 2).sum(axis=0) * gamma[inside])
    doubt = grouped(2 * half * np.sqrt(square) * lost * np.sqrt((np.abs(T) ** 2).sum()) / noise, labels[inside])
    worst = np.array([np.abs(slopes).max(initial=0.0)] * 2)
    if len(inside):
        worst = np.array([np.maximum(np.abs(slopes) - doubt, 0.0).max(), (np.abs(slopes) + doubt).max()])
    if free_noise:
        misfit = float((np.abs(rest[:n]) ** 2).sum()) * noise
        slope = abs(half * (misfit / noise - k * (total - intercept - determined.sum())))
        slack = 16 * np.finfo(float).eps * float((root * np.sqrt(misfit) * size).max() * n / noise)
        worst = np.maximum(worst, [max(slope - slack, 0.0), slope + slack])
    return tuple(np.maximum(worst, _promised(A, raw, rest[:n], s, size, gamma, noise, Q, labels)))


def grouped(values, labels):
    """Sums over the columns of each label that there is."""
    return np.bincount(np.unique(labels, return_inverse=True)[1], weights=values) if len(labels) else values


def _promised(A, raw, rest, s, size, gamma, noise, Q, labels):
    """What the columns outside promise: at the least and the most that rounding leaves."""
    k, square, whole = rest.shape[1], (np.abs(A) ** 2).sum(axis=0), (np.abs(raw) ** 2).sum(axis=0)
    out = np.flatnonzero((gamma == 0) & (square > 1e-24 * whole) & ~np.isin(labels, labels[gamma > 0]))
    if not len(out):
        return np.zeros(2)
    z = (np.abs(left_over(Q, A[:, out], noise)) ** 2).sum(axis=0)
    pull = A[:, out].conj().T @ rest / np.sqrt(noise)
    eps = 64 * np.finfo(float).eps
    unsure = eps * np.sqrt(((np.abs(raw[:, out]).T @ (np.sqrt(s)[:, None] * size)) ** 2).sum(axis=1)) / noise
    spread = eps**2 * whole[out] / noise + 2 * eps * np.sqrt(whole[out] * z / noise)
    count, z, spread = (grouped(values, labels[out]) for values in (np.ones(len(out)), z, spread))
    q, unsure = (np.sqrt(grouped(v, labels[out])) for v in ((np.abs(pull) ** 2).sum(axis=1), unsure**2))
    low = np.maximum(q - unsure, 0.0) ** 2 / (k * (z + spread))
    if (spread >= z).any():  # rounding hides whether the model spans the column: it may promise anything
        return np.array([float(_gain(low, count * k).sum()), np.inf])
    high = (q + unsure) ** 2 / (k * (z - spread))
    return np.array([2 * part(raw) * float(_gain(each, count * k).sum()) for each in (low, high)])


def _gain(ratio, k):
    ratio = np.maximum(ratio, 1.0)
    return 0.5 * k * (ratio - 1 - np.log(ratio))


def compare_between(name, claimed, low, high):
    """A complaint where a claimed number is outside what rounding allows."""
    if np.isfinite(claimed) and low * (1 - 1e-3) - 1e-9 <= claimed <= high * (1 + 1e-3) + 1e-9:
        return []
    return [f"{name} is claimed to be {claimed:.6g} and is between {low:.6g} and {high:.6g}"]


# -- Type I: half of |U|^2 / lam + k sum_j h(x_j^2), or half of k n h(|U|^2 / (k n)) + k sum_j h(x_j^2)

H = {
    "laplace": (np.sqrt, lambda z: 0.5 / np.sqrt(z)),
    "gaussian": (lambda z: z, np.ones_like),
    "jeffreys": (lambda z: 1 + np.log(z), lambda z: 1 / z),
    "student": (lambda z: 2 * np.log1p(z), lambda z: 2 / (1 + z)),
    "lp": (lambda z: z**0.25, lambda z: 0.25 * z**-0.75),
}


class TypeOne:
    """On columns about their means and in units of their norms, the sample weights taken in.

    `unit` is that of the targets: 1, or their root mean square for a prior that has a unit of its own.
    """

    def __init__(self, Phi, Y, s, prior, lam, intercept, unit=1.0):
        self.s, self.lam, self.intercept = s, lam, intercept
        total, root = s.sum(), np.sqrt(s)[:, None]
        Y = Y.reshape(len(Y), -1) / unit
        self.k, self.n, self.prior = Y.shape[1], max(total - intercept, 1.0), prior
        self.h, self.slope = H[prior]
        second = s @ Phi**2
        centred = Phi - s @ Phi / total if intercept else Phi
        norm = np.sqrt(s @ centred**2)
        self.there = norm > 1e-12 * np.sqrt(second)
        self.norm = np.where(self.there, norm, 1.0)
        self.A = np.where(self.there, root * centred / self.norm, 0.0)
        self.T = root * (Y - (s @ Y / total if intercept else 0.0))
        self.b = 0.5 * np.sqrt(self.k)
        self.blur = 0.0  # what rounding makes of the residual, as a vector

    def weights(self, coef):
        """Of unit columns, (d, k)."""
        return coef.reshape(self.k, -1).T * self.norm[:, None]

    def residual(self, X):
        return self.T - self.A @ X

    def square(self, U):
        return float((U**2).sum()) / (self.k * self.n)

    def value(self, X, b=None):
        z = (X**2).mean(axis=1)
        penalty = self.k * float(self.h(z[z > 0]).sum())
        square = self.square(self.residual(X))
        if self.lam is None:
            return 0.5 * (penalty + self.k * self.n * float(self.h(square)))
        return 0.5 * (penalty + self.k * self.n * square / self.lam)

    def value_rounding(self, X, b=None):
        """What the objective is off by where the residual, as a vector, is off by `blur`."""
        U = self.residual(X)
        rate = 1 / self.lam if self.lam is not None else float(self.slope(self.square(U)))
        return 0.5 * rate * (2 * np.sqrt((U**2).sum()) * self.blur + self.blur**2)

    def rounding(self, X, b=None):
        """The same of the duality gap: a dual point along the residual is shrunk until it is feasible.

        Its products with unit columns, which may be b, are off by `pulled`: the shrinkage by pulled / b of itself. A
        shrinkage by a part t costs the lasso t times the penalty and t^2 times the loss; the square-root lasso, whose
        dual is linear, t times all of the bound.
        """
        unsure = self.pulled(X) / self.b
        if self.lam is None:
            return self.value_rounding(X) + unsure * self.value(X)
        U, penalty = self.residual(X), self.b * float(np.sqrt((X**2).sum(axis=1)).sum())
        shrunk = np.sqrt(((self.A.T @ U) ** 2).sum(axis=1)).max(initial=0.0) / (self.lam * self.b) - 1
        loss = float((U**2).sum()) / (2 * self.lam)
        second = (2 * min(max(shrunk, 0.0), 1.0) + unsure) * unsure * loss
        return self.value_rounding(X) + unsure * penalty + second

    def pulled(self, X):
        """By how much rounding moves a product of a unit column with the dual point along the residual."""
        if self.lam is not None:
            return self.blur / self.lam
        return self.blur * self.b * np.sqrt(self.n) / np.sqrt((self.residual(X) ** 2).sum())

    def misses(self, X, D):
        """How far Phi^T D is from the slope of the Laplace penalty, relative to it, the worst column."""
        P, size = self.A.T @ D, np.sqrt((X**2).sum(axis=1))
        missed = np.maximum(np.sqrt((P**2).sum(axis=1)) - self.b, 0.0)
        kept = size > 0
        missed[kept] = np.sqrt(((P[kept] - self.b * X[kept] / size[kept, None]) ** 2).sum(axis=1))
        return float(missed.max(initial=0.0)) / self.b

    def duals(self, X):
        """Dual points of the (square-root) lasso: along the residual, and the shortest that the support allows."""
        U = self.residual(X)
        length = np.sqrt((U**2).sum())
        yield U / self.lam if self.lam is not None else U * (self.b * np.sqrt(self.n) / max(length, 1e-300))
        kept = np.flatnonzero((X**2).sum(axis=1))
        if self.lam is None and len(kept):
            wanted = self.b * X[kept] / np.sqrt((X[kept] ** 2).sum(axis=1, keepdims=True))
            yield np.linalg.lstsq(self.A[:, kept].T, wanted, rcond=1e-10)[0]

    def lower_bound(self, X, b=None):
        return max(self._dual(D) for D in self.duals(X))

    def _dual(self, D):
        highest, length = np.sqrt(((self.A.T @ D) ** 2).sum(axis=1)).max(initial=0.0), np.sqrt((D**2).sum())
        rho = min(1.0, self.b / max(highest, 1e-300))
        if self.lam is None:
            rho = min(rho, self.b * np.sqrt(self.n) / max(length, 1e-300))
            return rho * float((self.T * D).sum())
        return rho * float((self.T * D).sum()) - 0.5 * self.lam * (rho * length) ** 2

    def improve(self, X, b, enough, steps=200):
        """Block coordinate descent: the best objective and the best dual bound found on the way."""
        X, best, bound = X.copy(), self.value(X), self.lower_bound(X)
        U = self.residual(X)
        for _ in range(steps):
            lam = self.lam if self.lam is not None else 2 * np.sqrt(self.square(U))
            for j in np.flatnonzero(self.there):
                wanted = self.A[:, j] @ U + X[j]
                new = wanted * max(0.0, 1 - lam * self.b / max(np.sqrt((wanted**2).sum()), 1e-300))
                U += np.outer(self.A[:, j], X[j] - new)
                X[j] = new
            best, bound = min(best, self.value(X)), max(bound, self.lower_bound(X))
            if best - bound <= enough:
                break
        return best, bound, False

    def stationarity(self, X):
        """Largest |phi_j^T u - lam h'(x_j^2) x_j| relative to the largest |phi_j^T y|: inside, and over all columns.

        A weight of 0 stays 0 under a prior whose slope is infinite there.
        """
        U, z = self.residual(X), (X**2).mean(axis=1)
        lam = self.lam if self.lam is not None else 1 / float(self.slope(self.square(U)))
        P = self.A.T @ U
        largest = np.sqrt(((self.A.T @ self.T) ** 2).mean(axis=1)).max(initial=0.0) or 1.0
        kept = z > 0
        R = P[kept] - lam * self.slope(z[kept])[:, None] * X[kept]
        inside = np.sqrt((R**2).mean(axis=1)).max(initial=0.0) / largest
        outside = np.sqrt((P[~kept] ** 2).mean(axis=1)).max(initial=0.0) / largest
        return inside, max(inside, outside)


# -- evidence of labels, weights at their mode


class LabelledEvidence:
    """Laplace's approximation of log p(y) at the weights of one machine, (k, d), and its intercepts, (k,).

    k is 1, the log odds of the second class, or the number of classes. The intercept b of the centred columns has the
    prior exp(-10^-4 k |b|^2 / 2), along the contrasts of the classes if there are several.
    """

    def __init__(self, Phi, Y, s, shift, gamma, W, b, intercept):
        self.s, self.k, self.Y = s, len(W), Y
        mean = s @ Phi / s.sum() if intercept else np.zeros(Phi.shape[1])
        self.F = Phi @ W.T + b + shift
        self.size = np.abs(Phi) @ np.abs(W.T) + np.abs(b) + np.abs(shift)
        owner, column = np.nonzero(gamma)
        root = np.sqrt(gamma[owner, column])
        free = np.zeros((self.k, 0)) if not intercept else np.eye(1) if self.k == 1 else contrasts(self.k)
        self.v = np.append(W[owner, column] / root, (b + W @ mean) @ free)
        self.inside = len(owner)
        self.penalty = np.append(np.ones(self.inside), np.full(free.shape[1], 1e-4 * self.k))
        self.A = np.zeros((len(s), self.k, len(self.v)))  # how each parameter moves the scores
        self.A[:, owner, np.arange(self.inside)] = (Phi[:, column] - mean[column]) * root
        self.A[:, :, self.inside :] = free

    def evaluate(self):
        """Log evidence; slopes in the log variances, the curvature held; Newton's decrement; rounding of each."""
        P, loss = self._likelihood()
        root = np.sqrt(self.s)[:, None, None]
        if self.k == 1:
            X = root * np.sqrt(P * (1 - P))[:, :, None] * self.A
        else:
            X = root * np.sqrt(P)[:, :, None] * (self.A - np.einsum("nc,ncq->nq", P, self.A)[:, None])
        triangle = np.linalg.qr(
            np.vstack([X.reshape(len(X) * self.k, len(self.v)), np.diag(np.sqrt(self.penalty))]), mode="r"
        )
        value = loss + 0.5 * float(self.penalty @ self.v**2)
        free = len(self.v) - self.inside
        with np.errstate(divide="ignore"):
            evidence = -value - float(np.log(np.abs(triangle.diagonal())).sum()) + 0.5 * free * np.log(2 * np.pi)
        half = np.linalg.solve(triangle.T, np.eye(len(self.v)))
        variance = (half**2).sum(axis=0)[: self.inside]
        slopes = 0.5 * np.abs(1 - variance - self.v[: self.inside] ** 2)
        residual = self.s[:, None] * (self.Y - P)
        g = np.einsum("ncq,nc->q", self.A, residual) - self.penalty * self.v
        eps = 16 * np.finfo(float).eps
        score = eps * self.size.max(axis=1)
        blur = np.einsum("ncq,n->q", np.abs(self.A), self.s * score) + eps * self.penalty * np.abs(self.v)
        return Judged(
            evidence, float(slopes.max(initial=0.0)), float(((half @ g) ** 2).sum()) / (1 + abs(value)),
            float(self.s @ score) + len(self.v) * float(score.max()), float(((np.abs(half) @ blur) ** 2).sum()),
        )  # fmt: skip

    def _likelihood(self):
        F = self.F
        if self.k == 1:
            tail = np.exp(-np.abs(F))
            P = np.where(F >= 0, 1.0, tail) / (1 + tail)
            return P, float(self.s @ (np.log1p(tail) + np.maximum(F, 0.0) - self.Y * F)[:, 0])
        top = F.max(axis=1, keepdims=True)
        E = np.exp(F - top)
        own = (self.Y * F).sum(axis=1)
        return E / E.sum(axis=1, keepdims=True), float(self.s @ (top[:, 0] - own + np.log(E.sum(axis=1))))


class Judged(NamedTuple):
    """Log evidence, largest slope in a log variance, Newton's decrement, and the rounding of the first and the last."""

    evidence: float
    slope: float
    decrement: float
    rounding: float
    blur: float


def contrasts(k):
    """Orthonormal columns whose sums are 0, (k, k - 1)."""
    return np.linalg.qr(np.column_stack([np.ones(k), np.eye(k)[:, 1:]]))[0][:, 1:]


def log_determinant(Phi, s, gamma, a2, intercept):
    """log|a2 I + Phi Gamma Phi^T| of weighted (and centred) columns; a sample weight is a repetition."""
    centre = s @ Phi / s.sum() if intercept else 0.0
    A = np.sqrt(s)[:, None] * (Phi - centre) * np.sqrt(gamma)
    return s.sum() * np.log(a2) + float(np.log1p(np.linalg.svd(A, compute_uv=False) ** 2 / a2).sum())
