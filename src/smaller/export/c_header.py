"""A plan as a C header: C99 that compiles as C++ too, and needs math.h alone."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from .._version import __version__
from .plan import AGAINST_REST, IDENTITY, LOGISTIC, PAIRWISE, PROBIT, SOFTMAX, Plan, Products, plan_of

WIDE = 100  # characters of a line of numbers
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def to_c(model, name: str = "model", *, names=None, scaling=None) -> str:
    """A fitted model as a C header, which C++ compilers take too.

    It needs ``math.h`` alone, allocates nothing and keeps no state. For a classifier it has ::

        int NAME_predict(const double *x, double *probabilities);     /* the position of the class */
        const char *const NAME_classes[NAME_CLASSES];                 /* names of the classes */

    and for a regressor ``void NAME_predict(const double *x, double *mean, double *standard_deviation)``. ``x`` are the
    NAME_INPUTS inputs of one sample; results that are not needed may be NULL.

    Parameters
    ----------
    model : estimator
        As in :func:`to_onnx`.
    name : str, default="model"
        Prefix of all names in the header.
    names : sequence of str, default=None
        Names of the inputs, for the comment; by default those seen in fit.
    scaling : dict, default=None
        ``"mean"`` and ``"scale"`` by which the inputs become those of the model.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from smaller import SBMLR, to_c
    >>> header = to_c(SBMLR().fit(*load_iris(return_X_y=True)), "iris")
    >>> "static inline int iris_predict(const double *x, double *probabilities)" in header
    True
    """
    if not IDENTIFIER.fullmatch(name):
        raise ValueError(f"name must be an identifier of C, such as 'my_model'; got {name!r}.")
    plan = plan_of(model, names, scaling)
    parts = [_opening(plan), *_numbers(plan), *_functions(plan), CLOSING]
    return "\n".join(parts).replace("NAME", name).replace("GUARD", f"{name.upper()}_H")


def _opening(plan: Plan) -> str:
    k, m = len(plan.weights), 0 if plan.classes is None else len(plan.classes)
    listed = "\n".join(f"     {j}: {_comment(text)}" for j, text in enumerate(plan.names))
    return f"""/* {plan.model}, written by smaller {__version__}. The inputs:
{listed}
*/
#ifndef GUARD
#define GUARD

#include <math.h>
#include <stddef.h>

enum {{ NAME_INPUTS = {len(plan.names)}, NAME_COLUMNS = {plan.columns}, NAME_SCORES = {k}, NAME_CLASSES = {m} }};
"""


CLOSING = "#endif\n"


def _comment(text: str) -> str:
    """Text that cannot end a comment."""
    return re.sub(r"[^ -~]", "?", text).replace("*/", "* /").replace("/*", "/ *").replace("\\", "/")


def _quoted(text: str) -> str:
    """Text as a C string, byte by byte where it is not plain."""
    plain = {ord(c) for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-+.,:;=()/"}
    return '"' + "".join(chr(b) if b in plain else f"\\{b:03o}" for b in text.encode()) + '"'


# -- numbers


def _numbers(plan: Plan) -> list[str]:
    found = [_array("intercept", plan.intercept)]
    if plan.shift is not None and plan.scale is not None:
        found += [_array("shift", plan.shift), _array("scale", plan.scale)]
    if plan.classes is not None:
        texts = ", ".join(_quoted(str(label)) for label in plan.classes.tolist())
        found.append(f"static const char *const NAME_classes[{len(plan.classes)}] = {{{texts}}};\n")
    if plan.columns:
        found.append(_array("weights", plan.weights))
        kept = plan.basis
        places = isinstance(kept, Products)
        found.append(_array("factors", kept[0], "int") if places else _array("centers", kept[0]))
    if plan.spread is not None and plan.columns:
        found += [_array("means", plan.spread.center), _array("covariance", plan.spread.covariance)]
    elif plan.spread is not None:
        found.append(_array("level", plan.spread.covariance[:, 0, 0]))
    return found


def _array(name: str, values: np.ndarray, kind: str = "double") -> str:
    """A C array, with every number written to the last bit."""
    sides = "".join(f"[{side}]" for side in values.shape)
    return f"static const {kind} NAME_{name}{sides} = {_braces(values)};\n"


def _braces(values: np.ndarray) -> str:
    if values.ndim > 1:
        return "{" + ",\n".join(_braces(part) for part in values) + "}"
    return "{" + "\n".join(_wrapped([repr(value) for value in values.tolist()])) + "}"


def _wrapped(words: Iterable[str]) -> Iterable[str]:
    line = ""
    for word in words:
        if line and len(line) + len(word) > WIDE:
            yield f"{line},"
            line = ""
        line = f"{line}, {word}" if line else word
    yield line


# -- functions


def _functions(plan: Plan) -> list[str]:
    found = []
    if plan.columns:
        found += [_input(plan), PRODUCTS if isinstance(plan.basis, Products) else _similarities(plan)]
    found.append(_scores(plan))
    if plan.spread is not None:
        found.append(_variance(plan))
    if plan.link == IDENTITY:
        return [*found, _regression(plan)]
    helpers = {PROBIT: [LOG_NORMAL], PAIRWISE: [_pairwise(plan)]}
    return [*found, *helpers.get(plan.link, []), _classification(plan)]


def _input(plan: Plan) -> str:
    value = "x[j]" if plan.shift is None else "(x[j] - NAME_shift[j]) / NAME_scale[j]"
    return f"""/* Input j in the units of the model. */
static inline double NAME_input(const double *x, int j) {{
    return {value};
}}
"""


PRODUCTS = """/* Column i: a product of inputs; the position after the last input means 1. */
static inline double NAME_column(const double *x, int i) {
    const int degree = (int)(sizeof NAME_factors[0] / sizeof NAME_factors[0][0]);
    double value = 1.0;
    for (int d = 0; d < degree; ++d)
        if (NAME_factors[i][d] < NAME_INPUTS) value *= NAME_input(x, NAME_factors[i][d]);
    return value;
}
"""


def _similarities(plan: Plan) -> str:
    basis = plan.basis
    assert not isinstance(basis, Products)
    if basis.degree is None:
        term = "const double away = NAME_input(x, j) - NAME_centers[i][j]; sum += away * away;"
        value = f"exp(-{basis.gamma!r} * sum)"
    else:
        term = "sum += NAME_input(x, j) * NAME_centers[i][j];"
        value = f"{basis.gamma!r} * sum + {basis.coef0!r}"
        value = value if basis.degree == 1 else f"pow({value}, {basis.degree!r})"
    return f"""/* Column i: the similarity to relevance vector i. */
static inline double NAME_column(const double *x, int i) {{
    double sum = 0.0;
    for (int j = 0; j < NAME_INPUTS; ++j) {{ {term} }}
    return {value};
}}
"""


def _scores(plan: Plan) -> str:
    if not plan.columns:
        return """static inline void NAME_scores(const double *x, double *phi, double *f) {
    (void)x; (void)phi;
    for (int k = 0; k < NAME_SCORES; ++k) f[k] = NAME_intercept[k];
}
"""
    return """/* The columns phi that were kept, and the scores f. */
static inline void NAME_scores(const double *x, double *phi, double *f) {
    for (int i = 0; i < NAME_COLUMNS; ++i) phi[i] = NAME_column(x, i);
    for (int k = 0; k < NAME_SCORES; ++k) {
        double sum = 0.0;
        for (int i = 0; i < NAME_COLUMNS; ++i) sum += NAME_weights[k][i] * phi[i];
        f[k] = sum + NAME_intercept[k];
    }
}
"""


def _variance(plan: Plan) -> str:
    assert plan.spread is not None
    block = "k" if len(plan.spread.covariance) > 1 else "0"
    center = "k" if len(plan.spread.center) > 1 else "0"
    if not plan.columns:
        return f"""static inline double NAME_variance(const double *phi, int k) {{
    (void)phi; (void)k;
    return NAME_level[{block}];
}}
"""
    what = "the difference between the scores of pair k of classes" if plan.link == PAIRWISE else "score k"
    return f"""/* Variance of {what}. */
static inline double NAME_variance(const double *phi, int k) {{
    double total = NAME_covariance[{block}][NAME_COLUMNS][NAME_COLUMNS];
    (void)k;
    for (int i = 0; i < NAME_COLUMNS; ++i) {{
        const double away = phi[i] - NAME_means[{center}][i];
        double sum = 2.0 * NAME_covariance[{block}][NAME_COLUMNS][i];
        for (int j = 0; j < NAME_COLUMNS; ++j)
            sum += NAME_covariance[{block}][i][j] * (phi[j] - NAME_means[{center}][j]);
        total += away * sum;
    }}
    return total > 0.0 ? total : 0.0;
}}
"""


def _regression(plan: Plan) -> str:
    """Where there are several targets, `mean` has room for one value each; so has the deviation if need be."""
    apart = plan.spread is not None and len(plan.spread.covariance) > 1
    each = "for (int k = 0; k < NAME_SCORES; ++k) standard_deviation[k]" if apart else "*standard_deviation"
    told = "s of new observations" if apart else " of a new observation"
    return f"""/* The predicted mean{"s" if plan.several else ""}, and the standard deviation{told}. */
static inline void NAME_predict(const double *x, double *mean, double *standard_deviation) {{
    double phi[NAME_COLUMNS + 1], f[NAME_SCORES];
    NAME_scores(x, phi, f);
    if (mean != NULL)
        for (int k = 0; k < NAME_SCORES; ++k) mean[k] = f[k];
    if (standard_deviation != NULL) {each} = sqrt({plan.noise!r} + NAME_variance(phi, {"k" if apart else "0"}));
}}
"""


LOGARITHMS = {
    SOFTMAX: "for (int c = 0; c < NAME_CLASSES; ++c) z[c] = f[c];",
    LOGISTIC: "z[0] = 0.0; z[1] = f[0];",
    AGAINST_REST: "for (int c = 0; c < NAME_CLASSES; ++c)\n"
    "        z[c] = f[c] < 0.0 ? f[c] - log1p(exp(f[c])) : -log1p(exp(-f[c]));",
    PROBIT: "for (int c = 0; c < NAME_CLASSES; ++c) z[c] = NAME_log_normal(f[c]);",
    PAIRWISE: "NAME_pairwise(phi, f, z);",
}
TWO_PROBITS = "z[0] = NAME_log_normal(-f[0]); z[1] = NAME_log_normal(f[0]);"


def _classification(plan: Plan) -> str:
    logarithms = TWO_PROBITS if plan.link == PROBIT and not plan.several else LOGARITHMS[plan.link]
    moderate = (
        f"for (int k = 0; k < NAME_SCORES; ++k) f[k] /= sqrt(1.0 + {plan.moderation!r} * NAME_variance(phi, k));\n    "
        if plan.moderation and plan.link != PAIRWISE
        else ""
    )
    return f"""/* The position of the most probable class; the probabilities of all classes, unless NULL. */
static inline int NAME_predict(const double *x, double *probabilities) {{
    double phi[NAME_COLUMNS + 1], f[NAME_SCORES], z[NAME_CLASSES], total = 0.0;
    int best = 0;
    NAME_scores(x, phi, f);
    {moderate}{logarithms}
    for (int c = 1; c < NAME_CLASSES; ++c)
        if (z[c] > z[best]) best = c;
    if (probabilities != NULL) {{
        for (int c = 0; c < NAME_CLASSES; ++c) total += probabilities[c] = exp(z[c] - z[best]);
        for (int c = 0; c < NAME_CLASSES; ++c) probabilities[c] /= total;
    }}
    return best;
}}
"""


def _pairwise(plan: Plan) -> str:
    return f"""/* Logarithms of unnormalised probabilities: -log sum_d exp((f_d - f_c) / sqrt(1 + moderation v_cd)). */
static inline void NAME_pairwise(const double *phi, const double *f, double *z) {{
    double away[NAME_CLASSES][NAME_CLASSES];
    int pair = 0;
    for (int c = 0; c < NAME_CLASSES; ++c) {{
        away[c][c] = 0.0;
        for (int d = c + 1; d < NAME_CLASSES; ++d, ++pair) {{
            away[d][c] = (f[c] - f[d]) / sqrt(1.0 + {plan.moderation!r} * NAME_variance(phi, pair));
            away[c][d] = -away[d][c];
        }}
    }}
    for (int c = 0; c < NAME_CLASSES; ++c) {{
        double top = 0.0, total = 0.0;
        for (int d = 0; d < NAME_CLASSES; ++d)
            if (away[c][d] > top) top = away[c][d];
        for (int d = 0; d < NAME_CLASSES; ++d) total += exp(away[c][d] - top);
        z[c] = -top - log(total);
    }}
}}
"""


LOG_NORMAL = """/* The logarithm of the normal distribution function; far below zero by its asymptotic series. */
static inline double NAME_log_normal(double x) {
    if (x > -30.0) return log(0.5 * erfc(-x * 0.70710678118654752440));
    const double y = 1.0 / (x * x);
    const double tail = y * (-1.0 + y * (3.0 + y * (-15.0 + y * (105.0 + y * (-945.0 + y * 10395.0)))));
    return -0.5 * x * x - log(-x) - 0.91893853320467274178 + log1p(tail);
}
"""
