"""A plan as an ONNX graph of standard operators."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from .._version import __version__
from ..errors import choose
from .plan import AGAINST_REST, IDENTITY, LOGISTIC, PAIRWISE, PROBIT, Plan, Products, plan_of

EXTRA = 'ONNX needs the package onnx; install it with: pip install "smaller[export]"'
OPSET, FORMAT = 17, 8  # versions of the operators and of the file, which current runtimes read
TYPES = {"float64": "DOUBLE", "float32": "FLOAT"}
HALFWAY, TERMS = 3.75, 40  # of the series for the normal distribution function (Shepherd and Laframboise 1981)


def to_onnx(model, *, names=None, scaling=None, dtype: str = "float64") -> Any:
    """A fitted model as an ONNX graph.

    Parameters
    ----------
    model : estimator
        A linear or kernel model of this package, an :class:`EvidenceSearch` of one, or a pipeline of scikit-learn's
        StandardScaler and one.
    names : sequence of str, default=None
        Names of the inputs, kept in the graph's metadata; by default those seen in fit.
    scaling : dict, default=None
        ``"mean"`` and ``"scale"`` by which the inputs become those of the model.
    dtype : {"float64", "float32"}
        Of the input ``X`` (n, p) and of the outputs; between them it computes in double precision.

    Returns
    -------
    onnx.ModelProto
        Of a classifier, ``label`` (n,) and ``probabilities`` (n, n_classes); of a regressor, ``mean`` (n,) or (n,
        n_targets) and ``standard_deviation`` (n,).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR, to_onnx
    >>> graph = to_onnx(SBMLR().fit(*load_iris(return_X_y=True)))
    >>> [output.name for output in graph.graph.output]
    ['label', 'probabilities']
    """
    try:
        from onnx import TensorProto, checker, helper
    except ImportError:
        raise ImportError(EXTRA) from None
    choose("dtype", dtype, TYPES)
    plan, kind = plan_of(model, names, scaling), getattr(TensorProto, TYPES[dtype])
    graph = Graph()
    graph.rename(graph.add("Cast", "X", to=TensorProto.DOUBLE), "inputs")
    outputs = _regression(graph, plan) if plan.link == IDENTITY else _classification(graph, plan)
    described = [helper.make_tensor_value_info("X", kind, ["n", len(plan.names)])]
    told = []
    for name, (value, shape) in outputs.items():
        if name == "label":
            graph.rename(value, name)
            told.append(helper.make_tensor_value_info(name, _label_type(plan.classes), shape))
        else:
            graph.rename(graph.add("Cast", value, to=kind), name)
            told.append(helper.make_tensor_value_info(name, kind, shape))
    body = helper.make_graph(graph.nodes, plan.model, described, told, graph.constants)
    found = helper.make_model(body, producer_name="smaller", producer_version=__version__,
                              opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FORMAT)  # fmt: skip
    helper.set_model_props(found, {"inputs": json.dumps(plan.names), "model": plan.model})
    checker.check_model(found)
    return found


class Graph:
    """Nodes and constants; each node has one output, known by its name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """A node; inputs are names, or numbers and arrays that become constants."""
        from onnx import helper

        taken = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, taken, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        from onnx import numpy_helper

        array = np.asarray(value)
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def rename(self, value: str, name: str) -> None:
        """Give the last node's output its final name; another value is passed through."""
        from onnx import helper

        if self.nodes[-1].output[0] == value:
            self.nodes[-1].output[0] = name
        else:
            self.nodes.append(helper.make_node("Identity", [value], [name]))


def _columns(graph: Graph, plan: Plan) -> str:
    """phi, (n, q)."""
    x = "inputs"
    if plan.shift is not None:
        x = graph.add("Div", graph.add("Sub", x, plan.shift), plan.scale)
    if isinstance(plan.basis, Products):
        return _products(graph, x, plan.basis)
    centers, gamma = plan.basis.centers, np.float64(plan.basis.gamma)
    if plan.basis.degree is None:
        return graph.add("Exp", graph.add("Mul", _distances(graph, x, centers), -gamma))
    inner = graph.add("Add", graph.add("MatMul", x, gamma * centers.T), np.float64(plan.basis.coef0))
    return graph.add("Pow", inner, np.float64(plan.basis.degree))


def _products(graph: Graph, x: str, basis: Products) -> str:
    if basis.factors.shape[1] > 1:  # what is one beyond the last input is 1
        one = graph.add("Add", graph.add("Mul", graph.add("Gather", x, np.array([0]), axis=1), 0.0), 1.0)
        x = graph.add("Concat", x, one, axis=1)
    first, *rest = (graph.add("Gather", x, column, axis=1) for column in basis.factors.T)
    for factor in rest:
        first = graph.add("Mul", first, factor)
    return first


def _distances(graph: Graph, x: str, centers: np.ndarray) -> str:
    """|x - c|^2 = |x|^2 - 2 x.c + |c|^2, about the mean of the centres, so that little is lost."""
    middle = centers.mean(axis=0) if len(centers) else np.zeros(centers.shape[1])
    x, centers = graph.add("Sub", x, middle), centers - middle
    square = graph.add("ReduceSum", graph.add("Mul", x, x), np.array([1]), keepdims=1)
    cross = graph.add("Sub", (centers**2).sum(axis=1)[None], graph.add("MatMul", x, 2.0 * centers.T))
    return graph.add("Max", graph.add("Add", square, cross), np.float64(0))


def _scores(graph: Graph, plan: Plan, phi: str) -> str:
    return graph.add("Add", graph.add("MatMul", phi, plan.weights.T), plan.intercept)


def _variances(graph: Graph, plan: Plan, phi: str) -> str:
    """v, one column for all scores or one for each."""
    assert plan.spread is not None
    found = []
    for center, block in zip(*_paired(plan), strict=True):
        away = graph.add("Sub", phi, center)
        linear = graph.add("Add", graph.add("MatMul", away, block[:-1, :-1]), 2.0 * block[-1, :-1])
        form = graph.add("ReduceSum", graph.add("Mul", linear, away), np.array([1]), keepdims=1)
        found.append(graph.add("Max", graph.add("Add", form, block[-1, -1]), np.float64(0)))
    return found[0] if len(found) == 1 else graph.add("Concat", *found, axis=1)


def _apart(plan: Plan) -> bool:
    """Whether each target has a standard deviation of its own."""
    return plan.spread is not None and len(plan.spread.covariance) > 1


def _paired(plan: Plan) -> tuple[Any, Any]:
    """A centre for each covariance."""
    assert plan.spread is not None
    center, covariance = plan.spread
    return np.broadcast_to(center, (len(covariance), center.shape[1])), covariance


def _regression(graph: Graph, plan: Plan) -> dict[str, tuple[str, list]]:
    phi = _columns(graph, plan)
    mean = _scores(graph, plan, phi)
    variance = graph.add("Add", _variances(graph, plan, phi), np.float64(plan.noise))
    deviation, apart = graph.add("Sqrt", variance), _apart(plan)
    deviation = deviation if apart else graph.add("Squeeze", deviation, np.array([1]))
    flat = mean if plan.several else graph.add("Squeeze", mean, np.array([1]))
    return {
        "mean": (flat, ["n", len(plan.weights)] if plan.several else ["n"]),
        "standard_deviation": (deviation, ["n", len(plan.weights)] if apart else ["n"]),
    }


def _classification(graph: Graph, plan: Plan) -> dict[str, tuple[str, list]]:
    phi = _columns(graph, plan)
    F = _scores(graph, plan, phi)
    if plan.moderation:
        F = _differences(graph, plan, F) if plan.link == PAIRWISE else F
        grown = graph.add("Mul", _variances(graph, plan, phi), np.float64(plan.moderation))
        F = graph.add("Div", F, graph.add("Sqrt", graph.add("Add", grown, np.float64(1))))
    assert plan.classes is not None
    logs = _logs(graph, plan, F)
    place = graph.add("ArgMax", logs, axis=1, keepdims=0)
    label = graph.add("Gather", _labels(plan.classes), place, axis=0)
    return {"label": (label, ["n"]), "probabilities": (graph.add("Softmax", logs, axis=1), ["n", len(plan.classes)])}


def _differences(graph: Graph, plan: Plan, F: str) -> str:
    """f_a - f_b of the pairs (0, 1), (0, 2), ... of classes."""
    k = len(plan.weights)
    unit = np.eye(k)
    return graph.add("MatMul", F, np.array([unit[a] - unit[b] for a in range(k) for b in range(a + 1, k)]).T)


def _pairwise(graph: Graph, plan: Plan, away: str) -> str:
    """-log sum_d exp(-(f_c - f_d)), the differences having been moderated."""
    k = len(plan.weights)
    pair = {(a, b): place for place, (a, b) in enumerate((a, b) for a in range(k) for b in range(a + 1, k))}
    signs = np.zeros((k, len(pair), k))
    for (a, b), place in pair.items():
        signs[a, place, b], signs[b, place, a] = -1.0, 1.0
    found = []
    for sign in signs:
        other = graph.add("MatMul", away, sign)
        top = graph.add("ReduceMax", other, axes=[1], keepdims=1)
        total = graph.add("ReduceSum", graph.add("Exp", graph.add("Sub", other, top)), np.array([1]), keepdims=1)
        found.append(graph.add("Neg", graph.add("Add", top, graph.add("Log", total))))
    return graph.add("Concat", *found, axis=1)


def _logs(graph: Graph, plan: Plan, F: str) -> str:
    """Logarithms of the unnormalised probabilities, (n, K)."""
    if plan.link == LOGISTIC:
        return graph.add("Concat", graph.add("Mul", F, np.float64(0)), F, axis=1)
    if plan.link == AGAINST_REST:  # log 1 / (1 + exp -F)
        away = graph.add("Exp", graph.add("Neg", graph.add("Abs", F)))
        return graph.add(
            "Sub", graph.add("Min", F, np.float64(0)), graph.add("Log", graph.add("Add", away, np.float64(1)))
        )
    if plan.link == PAIRWISE:
        return _pairwise(graph, plan, F)
    if plan.link == PROBIT:
        return _log_normal(graph, F if plan.several else graph.add("Concat", graph.add("Neg", F), F, axis=1))
    return F


def _log_normal(graph: Graph, x: str) -> str:
    """The logarithm of the normal distribution function, by erfcx: runtimes lack erf in double precision."""
    a = graph.add("Mul", graph.add("Abs", x), np.float64(np.sqrt(0.5)))
    scaled = graph.add("Mul", _erfcx(graph, a), np.float64(0.5))
    minus = graph.add("Neg", graph.add("Mul", a, a))
    low = graph.add("Add", minus, graph.add("Log", scaled))
    high = graph.add("Log", graph.add("Sub", np.float64(1), graph.add("Mul", graph.add("Exp", minus), scaled)))
    return graph.add("Where", graph.add("Less", x, np.float64(0)), low, high)


def _erfcx(graph: Graph, a: str) -> str:
    """exp(a^2) erfc(a) for a >= 0: a Chebyshev series of (1 + 2a) erfcx(a) in (a - h) / (a + h), by Clenshaw's rule."""
    k = graph.add("Div", graph.add("Sub", a, np.float64(HALFWAY)), graph.add("Add", a, np.float64(HALFWAY)))
    double = graph.add("Mul", k, np.float64(2))
    nodes = chebyshev.chebpts1(TERMS + 1)
    series = chebyshev.chebfit(nodes, _stretched(nodes), TERMS)
    ahead, beyond = graph.add("Add", graph.add("Mul", k, np.float64(0)), series[-1]), np.float64(0)
    for term in series[-2:0:-1]:
        here = graph.add("Add", graph.add("Sub", graph.add("Mul", double, ahead), beyond), term)
        ahead, beyond = here, ahead  # type: ignore[assignment]
    value = graph.add("Add", graph.add("Sub", graph.add("Mul", k, ahead), beyond), series[0])
    return graph.add("Div", value, graph.add("Add", graph.add("Mul", a, np.float64(2)), np.float64(1)))


def _stretched(k: np.ndarray) -> np.ndarray:
    a = HALFWAY * (1 + k) / (1 - k)
    return (1 + 2 * a) * erfcx(a)


def _labels(classes: np.ndarray) -> np.ndarray:
    """Classes as ONNX can hold them: whole numbers, numbers, or text."""
    if classes.dtype.kind in "biu":
        return classes.astype(np.int64)
    return classes.astype(np.float64) if classes.dtype.kind == "f" else classes.astype(str).astype(object)


def _label_type(classes: Any) -> int:
    from onnx import TensorProto

    kind = _labels(classes).dtype.kind
    return {"i": TensorProto.INT64, "f": TensorProto.DOUBLE, "O": TensorProto.STRING}[kind]
