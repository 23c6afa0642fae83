"""Data to try the commands on, and a demonstration."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from .. import datasets
from ..atomic import replacing
from ..errors import choose
from ..ranking import Settings
from ..report import Report
from ..tables import Columns, Table
from . import models
from .application import app
from .arguments import option
from .fitting import gathered
from .terminal import grid, say, show


@app.command(name="datasets")
def list_datasets(
    name: Annotated[str | None, typer.Argument(help="One to write as CSV.", show_default=False)] = None,
    output: Annotated[Path | None, option("NAME.csv by default.", "--output", "-o")] = None,
) -> None:
    """List the data sets of the papers, or write one as CSV to try the commands on."""
    known = datasets.available()
    if name is None:
        grid(["name", "where"], [[key, where or "not here"] for key, where in known.items()], texts=(0, 1))
        return
    choose("name", name, known)
    _write_dataset(getattr(datasets, f"load_{name}")(), output or Path(f"{name}.csv"))


def _write_dataset(bunch, output: Path) -> None:
    import pandas as pd
    from scipy import sparse

    y = bunch.target if bunch.target_names is None else bunch.target_names[bunch.target]
    if sparse.issparse(bunch.data):
        raise ValueError("This set is a sparse matrix, which CSV is not for; use it from Python.")
    frame = pd.DataFrame(bunch.data, columns=list(bunch.feature_names))
    with replacing(output) as beside:
        frame.assign(y=y).to_csv(beside, index=False)
    say(f"{len(frame)} rows, {frame.shape[1]} columns and the target y: {output}")


@app.command()
def demo(folder: Annotated[Path, typer.Argument(help="Where the report goes.")] = Path("demo-report")) -> None:
    """Fit a sparse model to scikit-learn's breast cancer data and leave a report."""
    from sklearn.model_selection import train_test_split

    bunch = datasets.load_breast_cancer()
    labels = bunch.target_names[bunch.target]
    X, X_test, y, y_test = train_test_split(bunch.data, labels, test_size=0.3, stratify=labels, random_state=0)
    columns = Columns([str(name) for name in bunch.feature_names], target="y")
    fitted = models.fit(Table(X, y, columns), None, None, Settings(), "breast cancer, training part")
    found = Report(gathered(fitted, X_test, y_test, "breast cancer, test part"))
    say("Breast cancer, a sparse model on samples that it has not seen:")
    show(found.facts)
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / ("index.html" if find_spec("vl_convert") and find_spec("jinja2") else "facts.json")
    found.save(page)
    say(f"\nThe report: {page}")
