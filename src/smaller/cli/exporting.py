"""The command that exports models."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from ..atomic import replacing
from ..errors import choose
from ..export import to_c, to_onnx
from . import models
from .application import app, check_place
from .arguments import ModelFile, option
from .terminal import say, working


@app.command()
def export(
    model: ModelFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="A graph (.onnx), or a C header (.h).")] = Path(
        "model.onnx"
    ),
    dtype: Annotated[
        str, typer.Option(help="float64 or float32: the type of the inputs and outputs of a graph.")
    ] = "float64",
    name: Annotated[str | None, option("Prefix of the names in the header; by default the name of the file.")] = None,
) -> None:
    """Write a model for other programs: as an ONNX graph, or as C without dependencies."""
    check_place(output, model)
    choose("The ending of --output", output.suffix.lower(), (".onnx", ".h"))
    fitted = models.load_fitted(model)
    settings = {"names": fitted.columns.inputs, "scaling": fitted.scaling}
    with working("Writing the model"):
        if output.suffix.lower() == ".onnx":
            content = to_onnx(fitted.model, dtype=dtype, **settings).SerializeToString()
        else:
            content = to_c(fitted.model, name or re.sub(r"\W|^(?=\d)", "_", output.stem), **settings).encode()
        with replacing(output) as beside:
            beside.write_bytes(content)
    inputs = fitted.columns.inputs
    say(f"{type(fitted.model).__name__} of {len(inputs)} inputs, {len(content) / 1024:.1f} KiB: {output}")
    if fitted.columns.categories:
        say(f"Categories are inputs of 0 and 1; in order: {', '.join(inputs)}.")
