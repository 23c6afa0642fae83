"""The command that exports models."""

from __future__ import annotations

import re
from pathlib import Path

from ..atomic import replacing
from ..errors import choose
from ..export import to_c, to_onnx
from . import models
from .option_checks import check_place
from .terminal import say, working


def export(
    model: Path,
    output: Path,
    dtype: str,
    name: str | None,
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
