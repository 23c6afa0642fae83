"""Fit a sparse classifier on real data, say what it kept and how sure one can be of it, and leave a report to open.

Usage: python examples/demo.py [FOLDER]        the report goes to FOLDER/index.html (default: demo-report)
"""

import argparse
from html import escape
from pathlib import Path
from string import Template

import numpy as np
from pictures import curve_picture, path_picture, svg
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import confusion_matrix, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split

from smaller import RMLR, SMLRCV, path

TEMPLATE = Path(__file__).with_name("demo.html")


def load():
    """Scikit-learn's breast cancer data, the labels as words: training part, test part, names of the features."""
    data = load_breast_cancer()
    labels = data.target_names[data.target]
    parts = train_test_split(data.data, labels, test_size=0.3, stratify=labels, random_state=0)
    return *parts, data.feature_names.tolist()


def fit(X, y):
    """The sparse model and the ridge model, each with its strength chosen by the same five folds."""
    sparse = SMLRCV(lams=50, rule="1se", standardize=True).fit(X, y)
    search = GridSearchCV(RMLR(standardize=True), {"lam": np.geomspace(0.01, 100, 9)}, scoring="neg_log_loss")
    return sparse, search.fit(X, y).best_estimator_


def quality(model, X, y) -> dict:
    """Errors on data the model has not seen, with an exact 95 % binomial interval, and the log-loss."""
    wrong = int((model.predict(X) != y).sum())
    low, high = binomtest(wrong, len(y)).proportion_ci(method="exact")
    return {
        "features": len(model.support_),
        "wrong": wrong,
        "tested": len(y),
        "error": wrong / len(y),
        "interval": (float(low), float(high)),
        "log_loss": float(log_loss(y, model.predict_proba(X), labels=model.classes_)),
        "confusion": confusion_matrix(y, model.predict(X), labels=model.classes_).tolist(),
    }


def certificate(model) -> dict:
    """How far the weights can be from the optimum: of the objective, and of its optimality conditions."""
    return {
        "objective": float(model.objective_),
        "gap": float(model.dual_gap_),
        "violation": float(model.violation_),
        "meaning": (
            f"No weights at all can lower the objective, {model.objective_:.2f} nats, by more than "
            f"{model.objective_ * model.dual_gap_:.1e} nats (the duality gap), rounding aside; and no gradient "
            f"misses its optimality condition by more than {model.violation_:.1e} of the penalty (the violation)."
        ),
    }


def gather(sparse, ridge, X, X_test, y_test, names) -> dict:
    """All that the printed text and the page say, as plain numbers and words."""
    unit = X.std(axis=0)
    kept = sorted(sparse.support_, key=lambda j: -abs(sparse.coef_[0, j] * unit[j]))
    return {
        "classes": [str(label) for label in sparse.classes_],
        "trained": len(X),
        "inputs": len(names),
        "lam": float(sparse.lam_),
        "ridge_lam": float(ridge.lam),
        "weights": [(names[j], float(sparse.coef_[0, j] * unit[j]), float(sparse.coef_[0, j])) for j in kept],
        "sparse": quality(sparse, X_test, y_test),
        "ridge": quality(ridge, X_test, y_test),
        "certificate": certificate(sparse),
    }


def tell(facts: dict) -> None:
    """Print the facts."""
    weights = facts["weights"]
    print(f"Breast cancer, {facts['trained']} samples for training: {' or '.join(facts['classes'])}?\n")
    print(f"Kept {len(weights)} of {facts['inputs']} features (lam = {facts['lam']:.3g}, by cross-validation):")
    print(f"  {'':26}{'per std. deviation':>20}{'per unit':>12}")
    for name, standard, raw in weights:
        print(f"  {name:26}{standard:>+20.3f}{raw:>+12.4g}")
    print(f"A positive weight speaks for {facts['classes'][1]}.\n\nOn samples it has not seen:")
    for title, model in (("sparse", facts["sparse"]), ("ridge", facts["ridge"])):
        print(f"  {title:8}{model['features']:3} features, {describe(model)}")
    proof = facts["certificate"]
    print(f"\nCertificate: relative duality gap {proof['gap']:.1e}, violation {proof['violation']:.1e}.")
    print(proof["meaning"])


def describe(model: dict) -> str:
    """The quality of a model in one line."""
    low, high = model["interval"]
    return (
        f"{model['wrong']} of {model['tested']} wrong ({model['error']:.1%}, 95 % interval {low:.1%} to {high:.1%}), "
        f"log-loss {model['log_loss']:.3f}"
    )


def draw(sparse, X, y, names) -> dict:
    """The pictures of the report as inline SVG: the path over the strengths that were tried, and their scores."""
    found = path(X, y, sparse.lams_, standardize=True)
    pictures = {
        "path": path_picture(found, X.std(axis=0), names, sparse.lam_),
        "curve": curve_picture(sparse.lams_, sparse.scores_, found.n_kept, sparse.lam_),
    }
    return {name: _inline(svg(figure, salt=name, text="none")) for name, figure in pictures.items()}


def _inline(drawing: str) -> str:
    """Without the XML prologue; the text around it describes it to readers who cannot see it."""
    return '<svg aria-hidden="true" ' + drawing.partition("<svg ")[2]


def render(facts: dict, pictures: dict) -> str:
    """The page."""
    sparse, classes = facts["sparse"], [escape(label) for label in facts["classes"]]
    heads = "".join(f"<th scope='col'>called {label}</th>" for label in classes)
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        trained=facts["trained"],
        tested=sparse["tested"],
        kept=len(facts["weights"]),
        inputs=facts["inputs"],
        lam=f"{facts['lam']:.3g}",
        ridge_lam=f"{facts['ridge_lam']:.3g}",
        positive=classes[1],
        weights=_rows((escape(name), f"{standard:+.3f}", f"{raw:+.4g}") for name, standard, raw in facts["weights"]),
        models=_rows(zip(LABELS, _cells(sparse), _cells(facts["ridge"]), strict=True)),
        confusion_heads=heads,
        confusion=_rows((label, *row) for label, row in zip(classes, sparse["confusion"], strict=True)),
        objective=f"{facts['certificate']['objective']:.4f}",
        gap=f"{facts['certificate']['gap']:.1e}",
        violation=f"{facts['certificate']['violation']:.1e}",
        meaning=escape(facts["certificate"]["meaning"]),
        **{f"{name}_picture": drawing for name, drawing in pictures.items()},
    )


LABELS = ("features", "wrong", "error", "95&nbsp;% interval", "log-loss")


def _cells(model: dict) -> tuple:
    low, high = model["interval"]
    wrong = f"{model['wrong']} of {model['tested']}"
    return model["features"], wrong, f"{model['error']:.1%}", f"{low:.1%} to {high:.1%}", f"{model['log_loss']:.3f}"


def _rows(rows) -> str:
    """Rows of a table, the first cell of each its heading."""
    lines = (f"<th scope='row'>{first}</th>" + "".join(f"<td>{cell}</td>" for cell in rest) for first, *rest in rows)
    return "\n".join(f"<tr>{line}</tr>" for line in lines).replace("<td>-", "<td>\N{MINUS SIGN}")


def main(arguments: list[str] | None = None) -> None:
    """Fit, tell, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path("demo-report"), help="where the report goes")
    folder = parser.parse_args(arguments).folder
    X, X_test, y, y_test, names = load()
    sparse, ridge = fit(X, y)
    facts = gather(sparse, ridge, X, X_test, y_test, names)
    tell(facts)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / "index.html"
    page.write_text(render(facts, draw(sparse, X, y, names)), encoding="utf-8")
    print(f"\nThe report, with pictures: {page}")


if __name__ == "__main__":
    main()
