"""Every compiled kernel equals its NumPy twin; test_fallbacks.py tests those that have none."""

import numpy as np
import pytest
from scipy import sparse

from smaller import _core
from smaller._core import reference
from smaller._core.reference_norms import residuals

FAMILIES = {"symmetric": 0, "reference": 1, "gaussian": 2}


@pytest.fixture
def compiled():
    if not _core.COMPILED:
        pytest.skip("the compiled core is not installed")
    from smaller._core import compiled

    return compiled


def problem(family, layout, dtype, seed=0):
    """Columns, coordinates of all weights and targets of a small problem, columns away from zero mean."""
    rng = np.random.default_rng(seed)
    n, d, k = 70, 6, 3
    X = (rng.standard_normal((n, d)) + 1.5).astype(dtype)
    if layout == "dense":
        columns = (np.asfortranarray(X),)
    else:
        X[rng.random((n, d)) < 0.6] = 0
        csc = sparse.csc_array(X)
        index = np.int64 if layout == "csc64" else np.int32
        columns = (csc.data, csc.indices.astype(index), csc.indptr.astype(index))
    label = rng.integers(0, k + (family == 1), n)
    Y = np.asfortranarray(label[:, None] == np.arange(k), dtype=float)
    s = rng.uniform(0.5, 2.0, n)
    feature, klass = np.tile(np.arange(d), k), np.repeat(np.arange(k), d)
    return X.astype(float), columns, Y, s, feature, klass


def point(module, Y, s, feature, klass, family, intercept, l1=1.5, l2=0.1):
    """A fresh starting point, and the samples and the working set that describe it."""
    a, k = len(feature), Y.shape[1]
    w, b, F = np.zeros(a), np.zeros(k), np.zeros(Y.shape, order="F")
    strengths = {"l1": np.full(a, l1), "l2": np.full(a, l2), "scale": np.full(a, l1)}
    samples = module.Samples(
        Y=Y, s=s, offset=None, family=family, intercept=intercept, measure=float(s.sum()), negligible=0.0
    )
    return (w, b, F), samples, module.WorkingSet(feature=feature, klass=klass, w=w, **strengths)


def probabilities(F, family):
    if family == 2:
        return F
    P, U = np.empty_like(F), np.empty_like(F)
    reference.means(F, np.zeros_like(F), np.ones(len(F)), family, P, U)
    return P


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("learn", [True, False])
@pytest.mark.parametrize("start", [np.inf, 5.0])
def test_the_sequential_algorithm_takes_the_same_steps(compiled, k, learn, start):
    """Columns with copies among them, from no column and from all."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((50, 20))
    X[:, 7] = -2 * X[:, 3]
    X = np.asfortranarray(X / np.linalg.norm(X, axis=0))
    Z = X[:, :3] @ rng.standard_normal((3, k)) + 0.1 * rng.standard_normal((50, k))
    C, yy = np.asfortranarray(X.T @ Z), float((Z**2).sum())
    ends = []
    for module in (compiled, reference):
        alpha = np.full(20, start)
        data = module.GaussianData(C=C, total=50.0, yy=yy, floor=1e-9 if learn else 0.0)
        rule = module.SearchRule(tol=1e-6, aligned=1 - 1e-9, max_steps=2000)
        steps, noise = module.sequential(X, data, alpha, 0.05, rule)
        assert not np.isfinite(alpha[[3, 7]]).all()
        alpha[[3, 7]] = alpha[[3, 7]].min()  # which of the copies is in, rounding decides
        ends.append((steps, noise, alpha))
    assert ends[0][0] == ends[1][0] < 2000
    np.testing.assert_allclose(ends[0][1], ends[1][1], rtol=1e-8)
    np.testing.assert_allclose(ends[0][2], ends[1][2], rtol=1e-6)


def test_distances_decay_and_squares(compiled):
    rng = np.random.default_rng(0)
    X, Z, omega, center = rng.standard_normal((30, 5)), rng.standard_normal((17, 5)), rng.random(30), rng.random(5)
    ends = []
    for kernels in (compiled, reference):
        D, total = np.empty((30, 17)), np.zeros(5)
        kernels.distances(X, np.ascontiguousarray(Z.T), D)
        kernels.squares(X, omega, center, total)
        plain = D.copy()
        kernels.decay(D, 0.3)
        ends.append((plain, D, total))
    for ours, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-13)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_means_and_loss(compiled, family, k, alike):
    rng = np.random.default_rng(1)
    for size in (0.0, 1.0, 30.0, 800.0):
        F = np.asfortranarray(rng.standard_normal((1100, k)) * size)
        Y = np.asfortranarray(np.eye(k + 1)[rng.integers(0, k + 1, len(F)), :k])
        s = np.full(len(F), 1.3) if alike else rng.uniform(0, 2, len(F))
        P, U, Q, V = (np.empty_like(F) for _ in range(4))
        ours, twin = compiled.means(F, Y, s, family, P, U), reference.means(F, Y, s, family, Q, V)
        np.testing.assert_allclose(ours, twin, rtol=1e-13)
        np.testing.assert_allclose(P, Q, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(U, V, rtol=1e-12, atol=1e-300)
        np.testing.assert_allclose(U, P - Y, atol=1e-13 * (1 + size))


@pytest.mark.parametrize("family", [reference.SYMMETRIC, reference.REFERENCE])
def test_negative_entropy(compiled, family):
    rng = np.random.default_rng(2)
    k = 3 + (family == reference.SYMMETRIC)
    Y = np.asfortranarray(np.eye(4)[rng.integers(0, 4, 1100), :k])
    Q = rng.dirichlet(np.full(4, 0.1), 1100)[:, :k]
    Q[:7] = Y[:7]  # no doubt at all
    s = rng.uniform(0, 2, len(Y))
    for shrink in (0.0, 0.3, 1.0):
        ours, twin = (each.negentropy(np.asfortranarray(Q - Y), Y, s, shrink, family) for each in (compiled, reference))
        np.testing.assert_allclose(ours, twin, rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("ridge", [False, True])
def test_verdicts(compiled, ridge):
    rng = np.random.default_rng(3)
    W, G, l1, scale = rng.standard_normal((4, 50, 3))
    W[rng.random(W.shape) < 0.5] = 0.0
    l1 = np.where(rng.random(W.shape) < 0.2, 0.0, np.abs(l1) + 0.5)
    l2 = np.where(rng.random(W.shape) < 0.5, rng.random(W.shape), 0.0) * ridge
    scale = np.abs(scale) + 0.1
    ours, twin = np.empty_like(W), np.empty_like(W)
    found = compiled.judge(W, G, l1, l2, scale, ours)
    np.testing.assert_allclose(found, reference.judge(W, G, l1, l2, scale, twin), rtol=1e-13)
    np.testing.assert_allclose(ours, twin, rtol=1e-13, atol=1e-15)
    assert 0 <= found[1] <= found[2] < 1


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1, 1), (7, 5, 2), (100, 33, 3), (5000, 9, 7)])
def test_products_with_few_columns(compiled, shape, dtype):
    n, d, k = shape
    rng = np.random.default_rng(4)
    X, R = np.asfortranarray(rng.standard_normal((n, d)), dtype), np.asfortranarray(rng.standard_normal((n, k)))
    G = np.empty((d, k))
    compiled.pull(X, R, G)
    np.testing.assert_allclose(G, X.astype(np.float64).T @ R, rtol=1e-12, atol=1e-11)


def curved(rng, a, collinear):
    """A Hessian with a slope, weights and strengths; a fifth of the coordinates have no L1 penalty."""
    A = rng.standard_normal((3 * a, a))
    if collinear:
        A[:, 1::2] = A[:, :-1:2] + 1e-3 * rng.standard_normal((3 * a, a // 2))
    l1 = np.where(np.arange(a) % 5 == 4, 0.0, 3.0)
    return A.T @ A, 10 * rng.standard_normal(a), rng.standard_normal(a) * (rng.random(a) < 0.5), l1


@pytest.mark.parametrize("collinear", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_of_a_quadratic_model_with_an_l1_term(compiled, collinear, seed):
    """Against the optimality conditions, and, where sweeps reach them, against the twin."""
    H, g, w, l1 = curved(np.random.default_rng(seed), 30, collinear)
    ends = []
    for kernel in (compiled.quadratic, reference.quadratic):
        slope, d = g.copy(), np.zeros(30)
        kernel(H, slope, w, l1, np.ones(30), d, 1e-11)
        rounding = 8 * np.finfo(float).eps * (np.abs(g) + np.abs(H) @ np.abs(d)).max()
        np.testing.assert_allclose(slope, g + H @ d, rtol=0, atol=rounding)
        ends.append(w + d)
        if kernel is compiled.quadratic or not collinear:
            missed = np.where(w + d != 0, slope + l1 * np.sign(w + d), np.maximum(np.abs(slope) - l1, 0.0))
            assert np.abs(missed).max() <= 1e-8
    if not collinear:
        np.testing.assert_allclose(*ends, atol=1e-10)
        assert ((ends[0] == 0) == (ends[1] == 0)).all()


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_minimum_of_a_quadratic_model_with_norms_of_blocks(compiled, share, seed):
    """Against the optimality conditions, and against the twin; the last three weights are alone."""
    rng = np.random.default_rng(seed)
    H, g, w, l1 = curved(rng, 30, False)
    member = np.append(rng.permutation(27), [27, 28, 29]).astype(np.int64)
    start, tau = np.array([0, 1, 5, 15, 27, 28, 29, 30]), np.array([1e3, 40.0, 25.0, 150.0, 0.0, 0.0, 0.0])
    l1, ends = share * l1, []
    for kernel in (compiled.block_quadratic, reference.block_quadratic):
        slope, d = g.copy(), np.zeros(30)
        kernel(H, slope, w, l1, np.ones(30), d, start, member, tau, 1e-12)
        rounding = 8 * np.finfo(float).eps * (np.abs(g) + np.abs(H) @ np.abs(d)).max()
        np.testing.assert_allclose(slope, g + H @ d, rtol=0, atol=rounding)
        ends.append(w + d)
        for where, t in zip(np.split(member, start[1:-1]), tau, strict=True):
            part = (w + d)[where][None], -slope[where][None], l1[where][None], np.array([t])
            assert residuals(*part)[0] <= 1e-8
    np.testing.assert_allclose(*ends, atol=1e-10)
    assert ((ends[0] == 0) == (ends[1] == 0)).all()
    assert (ends[0] == 0).any()


def collinear_blocks(width):
    """The quadratic model of 60 broad bumps, in 12 blocks: a Hessian with eigenvalues from 10 to rounding."""
    rng = np.random.default_rng(0)
    place = np.sort(rng.uniform(0, 10, 60))
    A = np.exp(-((np.linspace(0, 10, 80)[:, None] - place) ** 2) / (2 * width**2))
    target = A @ rng.standard_normal(60) + rng.standard_normal(80)
    return A.T @ A, -A.T @ target, np.arange(0, 61, 5), rng.permutation(60)


@pytest.mark.parametrize(("width", "strength"), [(1.0, 0.1), (2.0, 0.01), (4.0, 1e-3)])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_blocks_of_nearly_collinear_columns_are_solved(compiled, share, width, strength):
    """By sweeps and Newton's equations of the non-zero weights alone a residual of the order of 1 was left."""
    H, g, start, member = collinear_blocks(width)
    tau, l1 = np.full(12, strength), np.full(60, share * strength)
    values = []
    for kernel in (compiled.block_quadratic, reference.block_quadratic):
        slope, d = g.copy(), np.zeros(60)
        assert kernel(H, slope, np.zeros(60), l1, np.full(60, strength), d, start, member, tau, 1e-4) < 300
        for where, t in zip(np.split(member, start[1:-1]), tau, strict=True):
            assert residuals(d[where][None], -(g + H @ d)[where][None], l1[where][None], np.array([t]))[0] <= 1e-3 * t
        norms = sum(np.linalg.norm(d[where]) for where in np.split(member, start[1:-1]))
        values.append(g @ d + d @ H @ d / 2 + strength * (norms + share * np.abs(d).sum()))
    np.testing.assert_allclose(*values, rtol=1e-9)


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_intercepts_are_settled_at_their_optimum(compiled, family):
    _, _, Y, s, *_ = problem(family, "dense", np.float64)
    start = np.asfortranarray(np.random.default_rng(1).standard_normal(Y.shape))
    ends = []
    for module in (compiled, reference):
        b, F = np.zeros(Y.shape[1]), start.copy(order="F")
        samples = module.Samples(
            Y=Y, s=s, offset=None, family=family, intercept=True, measure=float(s.sum()), negligible=0.0
        )
        module.settle_intercepts(samples, b, F, 1e-11)
        np.testing.assert_allclose(F, start + b, rtol=1e-12, atol=1e-12)
        P, U = np.empty_like(F), np.empty_like(F)
        reference.means(F, Y, s, family, P, U)
        np.testing.assert_allclose(s @ U, 0.0, atol=1e-11)
        ends.append(P)
    np.testing.assert_allclose(*ends, atol=1e-10)


@pytest.mark.parametrize("family", [0, 1])
def test_residuals_of_certain_samples_keep_their_digits(compiled, family):
    """P - Y of the own class is minus the sum of the others: 1e-30, not the rounding of 1."""
    F = np.asfortranarray([[70.0, 0.0], [0.0, 69.0]])
    Y = np.eye(2, order="F") if family == 0 else np.asfortranarray([[1.0, 0.0], [0.0, 1.0]])
    for module in (compiled, reference):
        P, U = np.empty_like(F), np.empty_like(F)
        module.means(F, Y, np.ones(2), family, P, U)
        others = np.exp([-70.0, -69.0]) * (1 if family == 0 else 2)
        np.testing.assert_allclose(-np.diag(U), others, rtol=1e-12)


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["dense", "csc32", "csc64"])
@pytest.mark.parametrize("family", [0, 1])
def test_componentwise_sweeps_agree_step_by_step(compiled, family, layout, dtype, intercept, greedy):
    X, columns, Y, s, feature, klass = problem(family, layout, dtype)
    mean = s @ X / s.sum() if intercept and layout == "dense" else np.zeros(X.shape[1])
    bound = (s @ (X - mean) ** 2 / 4)[feature]
    visit = (np.random.default_rng(2).random(len(feature)) < 0.7).astype(np.uint8)
    ends = []
    for module in (compiled, reference):
        (w, b, F), *described = point(module, Y, s, feature, klass, family, intercept)
        sweep = module.Sweep(bound=bound, center=mean[feature], visit=visit, greedy=greedy)
        met = [module.componentwise(*columns, *described, sweep, b, F) for _ in range(3)]
        ends.append((w, b, F, met))
    for ours, twin in zip(*ends, strict=True):
        np.testing.assert_allclose(ours, twin, rtol=1e-11, atol=1e-12)


def whole(compiled, X, Y, l1, max_iter=100, tol=1e-10):
    """The arguments of the L1 solver after the columns."""
    shape = X.shape[1] + 1, Y.shape[1]
    strengths = np.full(shape, l1)
    strengths[-1] = 0.0
    samples = compiled.Samples(
        Y=Y, s=np.ones(len(Y)), offset=None, family=0, intercept=True, measure=float(len(Y)), negligible=0.0
    )
    penalty = compiled.Penalty(l1=strengths, l2=None, scale=np.full(shape, float(len(Y))), leads=None)
    rule = compiled.Rule(tol=tol, max_iter=max_iter, screen=1.0, exact=False, room=64)
    start = compiled.Point(W=np.zeros(shape), F=np.zeros(Y.shape, order="F"), G=np.empty(shape), known=False)
    return samples, penalty, rule, start, np.ones(1)


def test_arrays_are_refused_rather_than_converted(compiled):
    """A silent conversion would copy the design."""
    X, (columns,), Y, *_ = problem(0, "dense", np.float64)
    arguments = whole(compiled, X, Y, 1.0)
    compiled.minimise(columns, *arguments)
    with pytest.raises(TypeError):
        compiled.minimise(np.ascontiguousarray(X), *arguments)
    with pytest.raises(TypeError):
        compiled.minimise(columns.astype(np.int64), *arguments)


def test_a_long_kernel_can_be_interrupted(compiled):
    """Ctrl-C during the compiled solver raises KeyboardInterrupt at once."""
    import signal
    import threading

    rng = np.random.default_rng(0)
    n, d = 4000, 300
    X = np.asfortranarray(
        rng.standard_normal((n, 5)) @ rng.standard_normal((5, d)) + 0.01 * rng.standard_normal((n, d))
    )
    Y = np.asfortranarray(np.eye(4)[rng.integers(0, 4, n)])
    arguments = whole(compiled, X, Y, 0.01, max_iter=10**6, tol=1e-300)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            compiled.minimise(X, *arguments)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["dense", "csc32", "csc64"])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_losses_after_moves_of_a_weight(compiled, family, layout, dtype):
    """Against the twin, and the twin against the loss itself."""
    X, columns, Y, s, feature, klass = problem(family, layout, dtype)
    rng = np.random.default_rng(2)
    F = np.asfortranarray(rng.standard_normal(Y.shape))
    P, U = np.empty_like(F), np.empty_like(F)
    before = reference.means(F, Y, s, family, P, U)
    Q = 1 - P
    center = rng.standard_normal(len(feature)) if layout == "dense" else np.zeros(len(feature))
    found = []
    for module in (compiled, reference):
        up, down = np.empty((2, len(feature)))
        moves = module.Moves(column=feature, klass=klass, center=center, step=0.3)
        module.weight_moves(*columns, moves, module.State(P=P, Q=Q, Y=Y, s=s, family=family), up, down)
        found.append((up, down))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-10, atol=1e-11)
    for i in (0, 7, len(feature) - 1):
        for sign, changes in ((1, found[1][0]), (-1, found[1][1])):
            moved = F.copy(order="F")
            moved[:, klass[i]] += sign * 0.3 * (X[:, feature[i]] - center[i])
            after = reference.means(moved, Y, s, family, np.empty_like(F), np.empty_like(F))
            np.testing.assert_allclose(changes[i], after - before, atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_losses_after_moves_of_a_gate_and_the_move_itself(compiled, family, intercept):
    X, _, Y, s, _, _ = problem(family, "dense", np.float64)
    X = np.asfortranarray(X)
    rng = np.random.default_rng(4)
    C = np.asfortranarray(X[:9])
    S = np.asfortranarray(((X[:, None] - C) ** 2).sum(axis=2))
    K = np.exp(-0.1 * S)
    W, base = np.asfortranarray(rng.standard_normal((9, Y.shape[1]))), np.zeros(Y.shape, order="F")
    W[3] = 0
    inputs, rate = np.array([0, 2, 5, 5]), np.array([0.05, -0.02, 0.1, 0.0])
    ours, twin = np.empty(4), np.empty(4)
    for module, losses in ((compiled, ours), (reference, twin)):
        samples = module.Samples(
            Y=Y, s=s, offset=None, family=family, intercept=intercept, measure=float(s.sum()), negligible=0.0
        )
        module.gate_moves(module.Gates(X=X, C=C, K=K, W=W, base=base), samples, inputs, rate, losses)
    np.testing.assert_allclose(ours, twin, rtol=1e-12)
    moved = [(S.copy(order="F"), K.copy(order="F")) for _ in range(2)]
    for kernel, (T, L) in zip((compiled.regate, reference.regate), moved, strict=True):
        kernel(T, L, X[:, 2], C[:, 2], 0.4, 0.1)
    np.testing.assert_allclose(moved[0], moved[1], rtol=1e-13)
    np.testing.assert_allclose(moved[1][1], np.exp(-0.1 * (S + 0.4 * (X[:, 2, None] - C[:, 2]) ** 2)), rtol=1e-12)


@pytest.mark.parametrize("family", ["symmetric", "reference"])
@pytest.mark.parametrize(
    "kind",
    [{"power": 1, "shape": 0.0}, {"power": 1, "shape": 20.0}, {"power": 2, "shape": 0.0}, {"power": 2, "shape": 9.0}],
    ids=["laplace", "laplace, learned", "normal", "normal, learned"],
)
@pytest.mark.parametrize("rows", [3, 8])
def test_trajectories_end_where_those_of_the_twin_end(compiled, family, kind, rows):
    _, _, Y, s, *_ = problem(FAMILIES[family], "dense", np.float64)
    rng = np.random.default_rng(1)
    A, offset = np.asfortranarray(rng.standard_normal((70, rows))), np.asfortranarray(rng.standard_normal(Y.shape))
    root = np.ascontiguousarray(0.2 * rng.standard_normal((3 * rows, 3 * rows - 1)))
    start = np.asfortranarray(rng.standard_normal((rows, 3)))
    rule = rng.standard_normal((9, root.shape[1])), np.arange(9), np.log(rng.random(9)), 0.05
    unit, normal = (np.asfortranarray(rng.random((rows, 3))) for _ in range(2))
    found = []
    for module in (compiled, reference):
        samples = module.Samples(
            Y=Y, s=s, offset=offset, family=FAMILIES[family], intercept=False, measure=1.0, negligible=0.0
        )
        density = module.Density(unit=unit, normal=normal, lam=2.0, rate=1.5, **kind)
        ends, told = np.empty((9, start.size)), np.empty((9, 2))
        module.trajectories(A, samples, density, root, start, *rule, ends, told)
        found.append((ends, told))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-8, atol=1e-8)
    assert len(np.unique(found[1][0][:, 0])) > 3  # some are accepted


def test_trajectories_refuse_arrays_that_do_not_fit(compiled):
    Y, s, root = np.zeros((5, 2), order="F"), np.ones(5), np.zeros((6, 6))
    samples = compiled.Samples(Y=Y, s=s, offset=Y, family=0, intercept=False, measure=1.0, negligible=0.0)
    density = compiled.Density(
        unit=np.zeros((3, 2), order="F"), normal=np.zeros((3, 2), order="F"), power=1, lam=1.0, shape=0.0, rate=0.0
    )
    rule = np.zeros((2, 6)), np.ones(2, dtype=np.int64), np.zeros(2), 0.1, np.zeros((2, 6))
    with pytest.raises(ValueError, match="do not fit together"):
        compiled.trajectories(
            np.zeros((5, 4), order="F"), samples, density, root, np.zeros((4, 2), order="F"), *rule, np.zeros((2, 2))
        )
    with pytest.raises(ValueError, match="do not fit together"):
        compiled.trajectories(
            np.zeros((5, 3), order="F"), samples, density, root, np.zeros((3, 2), order="F"), *rule, np.zeros((1, 2))
        )
